"""Resident memory of a long run."""

import re
import time

import tools
from processes import DoNothing, Session, cpu_seconds, resident_mb, table

RATE = 8_000
GOAL_MB = 10
# Each request in flight has a connection, which stays: a stall of a busy machine would open thousands, and be taken for growth.
IN_FLIGHT = 256


def seconds_of(text):
    found = re.fullmatch(r"(\d+)\s*(s|m|min|h)?", text)
    if not found:
        raise SystemExit(f"`{text}` is not a length; type for example --memory 60s or --memory 34m")
    return int(found.group(1)) * {"s": 1, "m": 60, "min": 60, "h": 3600, None: 1}[found.group(2)]


def run(options):
    length = seconds_of(options.memory)
    # The first minute, or the first third of a short run, fills what is kept of every kind.
    settled = min(60, length / 3)
    with DoNothing(options.server) as server:
        with Session(options.binary, "--endpoint-url", server.url, "--rate", RATE, "--window", f"{length}s", "--shards", 1,
                     "--max-in-flight", IN_FLIGHT) as session:
            server.wait_for_traffic(session.process)
            start, marks, samples = time.monotonic(), [settled + i * (length - 1 - settled) / 8 for i in range(9)], []
            tools.say(f"memory: {length} s at {RATE:,}/s")
            for mark in marks:
                time.sleep(max(0.0, mark - (time.monotonic() - start)))
                samples.append((time.monotonic() - start, resident_mb(session.pid), cpu_seconds(session.pid)))
            document = session.document(120)
    first, last = samples[0][1], samples[-1][1]
    rows = [[f"{at:,.0f}", f"{resident:.1f}"] for at, resident, _ in samples]
    totals, client = document["totals"], document["windows"][0]["client"]
    print(f"## Memory\n\n{RATE:,}/s for {length} s, at most {IN_FLIGHT} in flight; {totals['accepted']:,} accepted, {totals['shed']:,} shed, "
          f"{client['connections_opened']} connections opened while load ran.\n\n"
          f"{table(['after, s', 'resident, MB'], rows)}\nGrowth after the first {settled:.0f} s: **{last - first:+.1f} MB**. "
          f"Goal: less than {GOAL_MB} MB.\n", flush=True)
