"""How fast a call is, in frames per second, after a first one that compiles."""

import time


def best(call, frames, seconds, clock=time.perf_counter):
    """Of the fastest call within `seconds` of wall time."""
    call()
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = clock()
        call()
        times.append(clock() - start)
    return round(frames / min(times))


def sustained(call, frames, seconds, clock=time.perf_counter):
    """Of all calls that begin within `seconds` of wall time; `frames` counts them so far."""
    call()
    before, start, end = frames(), clock(), time.perf_counter() + seconds
    while time.perf_counter() < end:
        call()
    return round((frames() - before) / (clock() - start))
