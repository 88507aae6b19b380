"""Time to `--help` and to the first frame; size of the binary."""

import os
import subprocess
import time

import tools
from processes import spread, table
from terminal import Screen

TIMES = 20
ALTERNATE = b"\x1b[?1049h"
# The first frame names the program; what comes before it are the terminal's modes.
DRAWN = b"throttlescope"


def run(options):
    tools.say("start")
    helps, firsts = [], []
    for _ in range(TIMES):
        start = time.monotonic()
        subprocess.run([options.binary, "--help"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        helps.append((time.monotonic() - start) * 1e3)
    for _ in range(TIMES):
        with Screen(options.binary, "--rate", 100, reads=False) as screen:
            said = b""
            while ALTERNATE not in said or DRAWN not in said.split(ALTERNATE, 1)[1]:
                some = screen.some(10)
                if not some:
                    raise SystemExit("the screen drew nothing within 10 s")
                said += some
            firsts.append((time.monotonic() - screen.began) * 1e3)
    size = os.path.getsize(options.binary) / 2**20
    print("## Start\n\n" + table(["figure", "value", "goal"], [
        ["`--help`, ms", spread(helps), "< 20"],
        ["first frame on a terminal, ms", spread(firsts), "< 100"],
        ["binary, MB", f"{size:.1f}", ""]]), flush=True)
