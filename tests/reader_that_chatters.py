import os
import sys

from kb.types import Block, Document


def read(source, options):
    print("on standard output")
    sys.stderr.write("on standard error\n")
    os.write(1, b"straight to the descriptor\n")
    return Document(blocks=(Block(text="what it read"),), extractor="chatter")
