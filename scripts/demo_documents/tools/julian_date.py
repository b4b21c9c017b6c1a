"""Julian Dates and sidereal time for Lindholm Hill.

    python julian_date.py 2025-02-08T02:12:00
    JD 2460714.59167  sidereal time 12h 22m

Times are UTC. Light-travel time is not corrected for: for the long-period stars of the programme eight minutes do not
matter, and for SS Cyg the archive makes the correction itself.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

LONGITUDE_EAST_DEG = 14.114
J2000_JD = 2451545.0
UNIX_EPOCH_JD = 2440587.5
SECONDS_A_DAY = 86_400


def julian_date(moment: datetime) -> float:
    """Days since noon on 1 January 4713 BC; a time without a zone is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return UNIX_EPOCH_JD + aware.timestamp() / SECONDS_A_DAY


def local_sidereal_hours(jd: float, longitude_east_deg: float = LONGITUDE_EAST_DEG) -> float:
    """The right ascension on the meridian, good to a second or two in this century."""
    greenwich_deg = 280.46062 + 360.98564737 * (jd - J2000_JD)
    return (greenwich_deg + longitude_east_deg) % 360 / 15


def main(arguments: list[str]) -> int:
    try:
        moment = datetime.fromisoformat(arguments[0]) if arguments else datetime.now(tz=UTC)
    except ValueError as error:
        print(f"not a time: {error}", file=sys.stderr)
        return 2
    jd = julian_date(moment)
    hours, minutes = divmod(int(local_sidereal_hours(jd) * 60), 60)
    print(f"JD {jd:.5f}  sidereal time {hours:02d}h {minutes:02d}m")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
