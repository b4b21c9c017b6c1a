import os
import signal


def read(source, options):
    os.kill(os.getpid(), signal.SIGKILL)
