"""Decide whether the dome may stay open, from the latest weather reading.

    python weather_watch.py weather.json weather-limits.toml

Exit code 0: may stay open; 1: close, with the reasons on stdout. A reading that is old, missing or broken is a reason
to close: on 8 February 2025 the dome stayed open on a file that had not changed for four hours.
"""

from __future__ import annotations

import json
import sys
import time
import tomllib
from pathlib import Path


def reasons_to_close(reading: dict[str, float], limits: dict[str, float], now_s: float) -> list[str]:
    """Every limit of the [close] table that the reading breaks, as a line to print."""
    reasons = []
    age_s = now_s - reading["time_unix"]
    if age_s > limits["max_age_s"]:
        reasons.append(f"E-6004 reading is {age_s:.0f} s old, limit {limits['max_age_s']} s")
    if reading["gust_kmh"] >= limits["gust_kmh"]:
        reasons.append(f"gusts of {reading['gust_kmh']} km/h")
    if reading["humidity_percent"] >= limits["humidity_percent"]:
        reasons.append(f"humidity {reading['humidity_percent']} %")
    if reading["sky_delta_c"] >= limits["sky_delta_c"]:
        reasons.append(f"cloud: sky only {-reading['sky_delta_c']} degrees colder than the air")
    if reading["rain_contact"]:
        reasons.append("E-6011 rain sensor tripped")
    return reasons


def main(reading_path: str, limits_path: str) -> int:
    limits = tomllib.loads(Path(limits_path).read_text(encoding="utf-8"))["close"]
    try:
        reading = json.loads(Path(reading_path).read_text(encoding="utf-8"))
        reasons = reasons_to_close(reading, limits, time.time())
    except (OSError, ValueError, KeyError) as error:
        reasons = [f"E-6004 no usable reading: {error!r}"]
    print("\n".join(reasons) or "may stay open")
    return 1 if reasons else 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:3]))
