"""CPU of the screen, and whether it disturbs what is counted."""

import os
import tempfile
import time

import tools
from processes import Session, spread, table, thread_cpu_seconds
from terminal import COLUMNS, ROWS, Screen

RATES = [3_000, 5_000]
COUNTS = ["offered", "accepted", "throttled", "shed"]


def run(options):
    length = 8 if options.quick else 15
    shares, counts, written = [], {"headless": [], "screen": [], "screen that nobody reads": []}, []
    with tempfile.TemporaryDirectory() as directory:
        plan = os.path.join(directory, "screen.toml")
        with open(plan, "w", encoding="utf-8") as file:
            file.write(f'name = "screen"\nwindow = "{length}s"\npause = "3s"\nrates = {RATES}\n')
        arguments = ["--plan", plan, "--embedded-time-scale", 20]
        # Until the plan has ended: provisioning, windows, pauses, and what the last answers take.
        whole = len(RATES) * (length + 3) + 3
        for turn in range(options.rounds):
            tools.say(f"screen: round {turn + 1} of {options.rounds}")
            with Session(options.binary, *arguments) as session:
                counts["headless"].append(totals(session.document(whole + 60)))
            with Screen(options.binary, *arguments) as screen:
                time.sleep(2)
                cpu, seen, start = thread_cpu_seconds(screen.pid, screen.pid), screen.seen, time.monotonic()
                time.sleep(whole - 5)
                passed = time.monotonic() - start
                shares.append((thread_cpu_seconds(screen.pid, screen.pid) - cpu) / passed * 100)
                written.append((screen.seen - seen) / passed / 1024)
                time.sleep(3)
                counts["screen"].append(totals(screen.stop()))
            with Screen(options.binary, *arguments, reads=False) as screen:
                time.sleep(whole)
                counts["screen that nobody reads"].append(totals(screen.stop()))
    print(f"## Screen\n\n{COLUMNS} by {ROWS}, plan of {' and '.join(f'{rate:,}' for rate in RATES)}/s on the simulated endpoint.\n\n"
          + table(["figure", "value", "goal"], [
              ["CPU of the screen's thread, % of a core", spread(shares, 2), "< 3 %"],
              ["written to the terminal, KB/s", spread(written), ""]]), flush=True)
    rows = []
    for name in COUNTS:
        means = {kind: sum(one[name] for one in runs) / len(runs) for kind, runs in counts.items()}
        base = means["headless"]
        apart = max(abs(value - base) for value in means.values())
        rows.append([name, *(f"{value:,.0f}" for value in means.values()), f"{apart / base * 100:.2f} %" if base else f"{apart:,.0f}"])
    print("Counts, mean of the rounds. Goal: within 0.5 % of each other.\n\n" + table(["count", *counts, "most apart"], rows), flush=True)


def totals(document):
    return document["totals"]
