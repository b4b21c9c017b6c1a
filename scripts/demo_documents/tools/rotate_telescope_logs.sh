#!/usr/bin/env bash
# Compress Nestor's logs after 7 days, delete them after 400, and thumbnails after 30.
# Written after E-5001 on 21 August 2025, when 140 GB of old logs had filled the disk.
#
#   rotate_telescope_logs.sh /srv/nestor/log [--dry-run]
#
# Logs of a night with an incident are kept for ever: put an empty file KEEP into the folder.
set -euo pipefail

log_dir=${1:?usage: rotate_telescope_logs.sh LOG_DIR [--dry-run]}
dry_run=${2:-}
compress_after_days=7
delete_after_days=400
thumbnails_after_days=30

run() {
  if [[ $dry_run == --dry-run ]]; then
    echo "would run: $*"
  else
    "$@"
  fi
}

rotate() {
  local folder=$1
  [[ -e $folder/KEEP ]] && return 0
  while IFS= read -r -d '' file; do
    run gzip -9 "$file"
  done < <(find "$folder" -maxdepth 1 -name '*.log' -mtime "+$compress_after_days" -print0)
  while IFS= read -r -d '' file; do
    run rm -- "$file"
  done < <(find "$folder" -maxdepth 1 \( -name '*.log.gz' -mtime "+$delete_after_days" \
    -o -name 'thumb-*.jpg' -mtime "+$thumbnails_after_days" \) -print0)
}

while IFS= read -r -d '' folder; do
  rotate "$folder"
done < <(find "$log_dir" -type d -print0)
