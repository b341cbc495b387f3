#!/usr/bin/env python3
"""Which functions of a program run.

    order.py trace TRACE BINARY ARGUMENT...   runs the program; appends to the file TRACE the address of each function
                                              when it is entered for the first time
    order.py list BINARY TRACE...             prints patterns of the functions' names: first those of the first trace, in
                                              the order in which they ran, then what the second adds, and so on

Hashes in Rust's names differ between compilers and targets and are `*`: `17h0123456789abcdefE` at the end of legacy names,
`Cs1a2B_` before a crate in v0 names. `list` says on standard error how many bytes of code they are.

A trace puts a breakpoint (int3) at the start of every function and takes it away when it is hit, so the program runs on the
processor that is there, at its speed after the first seconds: what an emulator shows depends on the instructions that it
knows. Signals go through; the program ends with its tracer. Linux on x86_64, static programs that are not stripped.
"""
import ctypes
import os
import re
import signal
import subprocess
import sys

HASHES = [(re.compile(r"17h[0-9a-f]{16}E"), "17h*E"), (re.compile(r"Cs[0-9a-zA-Z]+_"), "Cs*_")]
# From <sys/ptrace.h>.
TRACEME, CONT, GETREGS, SETREGS, SETOPTIONS = 0, 7, 12, 13, 0x4200
# PTRACE_O_TRACECLONE, PTRACE_O_TRACEEXEC, PTRACE_O_EXITKILL
OPTIONS = 0x8 | 0x10 | 0x100000
# `rip` in user_regs_struct of x86_64, by 8 bytes; of its 27 words.
RIP, WORDS = 16, 27
WALL = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def functions(binary):
    """Name and bytes of every function, by address; a place may have several names."""
    listed = subprocess.run(["readelf", "--symbols", "--wide", binary], capture_output=True, text=True, check=True)
    places = {}
    for line in listed.stdout.splitlines():
        words = line.split()
        if len(words) == 8 and words[3] == "FUNC" and words[6] != "UND" and int(words[2], 0) > 0:
            names = places.setdefault(int(words[1], 16), {})
            names[words[7]] = int(words[2], 0)
    return places


def ptrace(request, pid, data=None):
    return libc.ptrace(request, pid, None, data)


def trace(out, command):
    places = functions(command[0])
    child = os.fork()
    if child == 0:
        ptrace(TRACEME, 0)
        os.execv(command[0], command)
    os.waitpid(child, 0)
    ptrace(SETOPTIONS, child, OPTIONS)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: os.kill(child, number))
    memory = os.open(f"/proc/{child}/mem", os.O_RDWR)
    armed = {}
    for address in places:
        armed[address] = os.pread(memory, 1, address)
        os.pwrite(memory, b"\xcc", address)
    registers = (ctypes.c_ulonglong * WORDS)()
    ptrace(CONT, child)
    while True:
        try:
            pid, status = os.waitpid(-1, WALL)
        except InterruptedError:
            continue
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            if pid == child:
                sys.exit(os.waitstatus_to_exitcode(status) % 256)
            continue
        number = os.WSTOPSIG(status)
        if number == signal.SIGTRAP and status >> 16 == 0:
            ptrace(GETREGS, pid, ctypes.byref(registers))
            at = registers[RIP] - 1
            if at in places:
                # Of two threads that come here at once the second finds the breakpoint gone, and goes back the same.
                if at in armed:
                    os.pwrite(memory, armed.pop(at), at)
                    out.write(f"{at:x}\n")
                    out.flush()
                registers[RIP] = at
                ptrace(SETREGS, pid, ctypes.byref(registers))
                number = 0
        elif status >> 16 or number in (signal.SIGTRAP, signal.SIGSTOP):
            # A thread has begun, in it or in the one that made it.
            number = 0
        ptrace(CONT, pid, number)


def pattern(name):
    # What the compiler appends when it splits or promotes a function.
    name = re.sub(r"\.(llvm|cold|isra|constprop|part)\b.*", "", name)
    for hashes, anything in HASHES:
        name = hashes.sub(anything, name)
    return name


def order(binary, traces):
    places = functions(binary)
    patterns, ran = {}, {}
    for file in traces:
        with open(file, encoding="ascii") as lines:
            ran.update(dict.fromkeys(int(line, 16) for line in lines))
    # A function of C may have several names, and its section is called after one of them. A dictionary keeps the order in
    # which its keys came.
    for address in ran:
        patterns.update(dict.fromkeys(pattern(name) for name in sorted(places[address])))
    if not ran:
        sys.exit("error: the traces are empty")
    total = sum(max(names.values()) for names in places.values())
    code = sum(max(places[address].values()) for address in ran)
    print(f"{len(ran)} of {len(places)} functions ran, {code:,} of {total:,} bytes", file=sys.stderr)
    print("\n".join(patterns))


if __name__ == "__main__":
    if sys.argv[1] == "trace":
        with open(sys.argv[2], "a", encoding="ascii") as out:
            trace(out, sys.argv[3:])
    else:
        order(sys.argv[2], sys.argv[3:])
