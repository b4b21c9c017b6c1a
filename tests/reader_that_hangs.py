from time import sleep


def read(source, options):
    while True:
        sleep(60)
