import os
from pathlib import Path
from time import sleep


def read(source, options):
    Path(source.path).parents[1].joinpath("hanging.pid").write_text(str(os.getpid()))
    while True:
        sleep(60)
