// Exposure plans a run of frames: how long each may be before a star saturates,
// and how many are needed for a wanted signal-to-noise ratio.
//
//	go run exposure.go -mag 9.9 -snr 200
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
)

const (
	zeroPointV      = 21.9    // magnitude that gives one electron a second: Kestrel, V, 17 May 2025
	skyElectrons    = 1.4     // electrons a second and binned pixel, moonless
	readNoise       = 3.5     // electrons, QHY-268M at gain 56
	aperturePixels  = 113     // radius of 6 binned pixels
	linearLimit     = 48000.0 // electrons in the brightest pixel
	peakFraction    = 0.06    // of the light in the brightest pixel, at 2 arcsec seeing
	longestExposure = 300.0   // seconds, guided
)

// starRate is the light of a star in electrons a second.
func starRate(magnitude float64) float64 {
	return math.Pow(10, 0.4*(zeroPointV-magnitude))
}

// longest is the exposure in seconds that keeps the brightest pixel linear.
func longest(magnitude float64) float64 {
	return math.Min(linearLimit/(peakFraction*starRate(magnitude)), longestExposure)
}

// signalToNoise of a single frame.
func signalToNoise(magnitude, seconds float64) float64 {
	signal := starRate(magnitude) * seconds
	background := aperturePixels * (skyElectrons*seconds + readNoise*readNoise)
	return signal / math.Sqrt(signal+background)
}

func main() {
	magnitude := flag.Float64("mag", 10, "V magnitude of the star")
	wanted := flag.Float64("snr", 100, "signal-to-noise ratio of the whole run")
	flag.Parse()
	if *wanted <= 0 {
		fmt.Fprintln(os.Stderr, "exposure: -snr must be above zero")
		os.Exit(2)
	}
	seconds := longest(*magnitude)
	single := signalToNoise(*magnitude, seconds)
	frames := math.Max(5, math.Ceil(math.Pow(*wanted/single, 2))) // five at least: the programme reports a median
	fmt.Printf("%.0f frames of %.1f s, signal-to-noise %.0f\n", frames, seconds, single*math.Sqrt(frames))
}
