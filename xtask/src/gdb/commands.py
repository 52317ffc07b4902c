"""Commands for gdb that show the objects of a debug kernel: `help escapement` lists them.

The layout of objects is that of the kernel's debug information. What this does not tell, the kernel stores in its memory
(`kernel/src/debugger.rs`). The tool has set PROGRAMS, the file of each component's program by the component's name, and
ROOT_TASK, that of the root task.
"""

import contextlib
import re

import gdb

# The most threads, and the longest list, that are shown: damaged memory may have a circle.
MOST = 4096
UNSEEN = (
    "QEMU shows nothing of the kernel's memory to a debugger in the user mode of 32-bit Arm; stop in the kernel: "
    "break kernel::invoke::method, and continue"
)


def find(value, name):
    """The field of this name that is in the value, or in the fewest structs inside of it."""
    level = [value]
    while level:
        inner = []
        for one in level:
            for field in one.type.strip_typedefs().fields():
                if field.name == name:
                    return one[field]
                if field.type.strip_typedefs().code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
                    inner.append(one[field])
        level = inner
    raise gdb.GdbError(f"the kernel has no field `{name}`; are its symbols those of this run?")


def find_type(value, name):
    """The first value of the type of this name, in this value or behind it."""
    for field in value.type.strip_typedefs().fields():
        inner = value[field]
        if inner.type.code == gdb.TYPE_CODE_PTR and int(inner) and inner.type.target().name == name:
            return inner.dereference()
        if inner.type.name == name:
            return inner
        if inner.type.code == gdb.TYPE_CODE_STRUCT:
            found = find_type(inner, name)
            if found is not None:
                return found
    return None


def number(value):
    """The number in a struct of a single field, however often that is wrapped."""
    while value.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
        value = value[value.type.fields()[0]]
    return int(value)


def word(value):
    """The value as a word of the machine: an optional handle is null if there is none."""
    return int(value.address.cast(gdb.lookup_type("usize").pointer()).dereference())


def parameter(kind):
    """The parameter of a type with one: gdb knows parameters of C++'s templates only."""
    return gdb.lookup_type(kind.name.split("<", 1)[1][:-1])


def target(handle):
    """The object of a handle, or of an optional one; None if there is none."""
    kind = parameter(handle.type)
    if handle.type.name.startswith("core::option::"):
        kind = parameter(kind)
    address = word(handle)
    return gdb.Value(address).cast(kind.pointer()).dereference() if address else None


def variant(value):
    """The name of an enum's variant."""
    text = str(value).split("{")[0].split("(")[0].strip()
    return re.sub(r"<[^:]*>", "", text).split("::")[-1]


def entries(slice_):
    """The entries of a slice."""
    return [slice_["data_ptr"][index] for index in range(int(slice_["length"]))]


def text(string):
    """A `str` in the kernel's memory."""
    return bytes(gdb.selected_inferior().read_memory(int(string["data_ptr"]), int(string["length"]))).decode()


@contextlib.contextmanager
def privileged():
    """QEMU reads memory with the rights of the processor's mode. On Arm, user mode has no right to the kernel's memory."""
    if gdb.selected_thread() is None:
        raise gdb.GdbError("no emulator is connected; start one, and this debugger again")
    frame = gdb.newest_frame()
    name = frame.architecture().name()
    before = int(frame.read_register("cpsr")) if name.startswith(("arm", "aarch64")) else None
    # The mode is in the lower bits (Arm Architecture Reference Manual, "PSTATE" and "Processor modes").
    user, bits, kernel = (0x0, 0xF, 0x5) if name.startswith("aarch64") else (0x10, 0x1F, 0x13)
    is_user = before is not None and before & bits == user
    write = lambda state: gdb.execute(f"with language c -- set $cpsr = {state}", to_string=True)
    if is_user:
        write(before & ~bits | kernel)
        # QEMU ignores this where user mode is one of 32-bit Arm; what is in the cache of registers is only the wish.
        gdb.execute("maintenance flush register-cache", to_string=True)
        if int(gdb.newest_frame().read_register("cpsr")) & bits == user:
            raise gdb.GdbError(UNSEEN)
    try:
        yield
    finally:
        if is_user:
            write(before)


class Kernel:
    """The state of the kernel as the machine has stopped."""

    def __init__(self):
        self.cores = self.of_cores()
        if not self.cores:
            raise gdb.GdbError("the kernel has not started yet; let the machine run: continue")
        first = self.cores[0]
        self.constants = find(first, "constants").dereference()
        self.clock = find_type(find(first, "arch"), "kernel::time::Clock")
        self.threads = list(self.all_threads(first))
        self.names = {}
        for thread in self.threads:
            name = self.name(thread)
            self.names[int(thread.address)] = f'thread "{name}"'
            for field in ("own_context", "sched_context"):
                context = target(thread[field])
                if context is not None:
                    self.names.setdefault(int(context.address), f'context of "{name}"')

    @staticmethod
    def storage():
        """The array of the cores' kernels: in the only static variable of such a type."""
        listed = gdb.execute("info variables -q -n KERNEL", to_string=True)
        for file, line in re.findall(r"File (\S+):\n(\d+):", listed):
            for place in gdb.decode_line(f"{file}:{line}")[1] or ():
                for symbol in [*place.symtab.static_block(), *place.symtab.global_block()]:
                    if symbol.is_variable and re.search(r"::Kernel(s|Cell)<", symbol.type.name or ""):
                        return find(symbol.value(), "storage")
        raise gdb.GdbError("the kernel's file has no types; run the emulator with --gdb")

    @classmethod
    def of_cores(cls):
        """The kernels of the cores that have started. Before that, memory is zero or not mapped."""
        try:
            places = cls.storage()
            kernels = [find(places[index], "kernel") for index in range(places.type.range()[1] + 1)]
            return [kernel for kernel in kernels if int(find(kernel, "constants"))]
        except gdb.MemoryError:
            return []

    @staticmethod
    def all_threads(kernel):
        thread = target(find(find(kernel, "instruments"), "threads"))
        for _ in range(MOST):
            if thread is None:
                return
            yield thread
            thread = target(thread["instruments"]["older"])

    @staticmethod
    def name(thread):
        name = thread["name"]
        memory = gdb.selected_inferior().read_memory(int(name.address), name.type.sizeof)
        return bytes(memory).split(b"\0")[0].decode("ascii", "backslashreplace")

    def us(self, ticks):
        """Ticks as text, in microseconds."""
        return f"{ticks * 1_000_000 / number(self.clock['ticks_per_second']):.0f} us"

    def current(self, core):
        """The thread that a core runs, if it does not idle."""
        return target(find(self.cores[core], "core")["current"])

    def now(self, owned):
        """The time at the last kernel entry of the core that owns a thread or a context."""
        return number(find(self.cores[int(owned["core"])], "core")["now"])

    def thread(self, name):
        for thread in self.threads:
            if self.name(thread) == name:
                return thread
        names = ", ".join(self.name(thread) for thread in self.threads)
        raise gdb.GdbError(f"there is no thread `{name}`; there are: {names}")

    def named(self, address):
        return self.names.get(address, f"{address:#x}")

    def state(self, thread):
        for core in range(len(self.cores)):
            current = self.current(core)
            if current is not None and int(current.address) == int(thread.address):
                return f"current on core {core}"
        return variant(thread["state"])

    def replenishments(self, context):
        """Times and amounts, in their order; a stored entry has the total of all amounts up to its own."""
        ring, budget = context["ring"], number(context["budget"])
        kind = parameter(self.constants["refill"].type)
        first = gdb.Value(int(context.address) + int(self.constants["refills"])).cast(kind.pointer())
        capacity, count, head = (int(ring[name]) for name in ("capacity", "count", "head"))
        places = [(head + place) % capacity for place in range(min(count, capacity))]
        totals = [int(first[place]["total"]) for place in places]
        before = totals[-1] - budget if totals else 0
        for place, total in zip(places, totals):
            yield number(first[place]["time"]), (total - before) % 2**64
            before = total

    def capability(self, slot):
        """The capability in a slot, in words; None if it is empty."""
        words = [int(find(slot, "words")[index]) for index in range(2)]
        long_tag = int(self.constants["long_tag"])
        is_long = words[0] & long_tag == long_tag
        tag = words[0] & (0xFF if is_long else int(self.constants["short_tag"]))
        if tag == 0:
            return None
        for kind in entries(self.constants["kinds"]):
            known, name, fields = (kind[field] for field in kind.type.fields())
            if int(known) == tag:
                parts = (list(pair[field] for field in pair.type.fields()) for pair in entries(fields))
                return text(name), {text(part): self.field(words, place) for part, place in parts}
        return f"kind {tag} of the architecture", {}

    @staticmethod
    def field(words, place):
        """The value of a packed field; see `RawCap::get`."""
        part = {name: int(place[name]) for name in ("word", "low", "width", "shift", "pointer")}
        bits = 8 * gdb.lookup_type("usize").sizeof
        value = (words[part["word"]] >> part["low"] & (1 << part["width"]) - 1) << part["shift"]
        top = part["width"] + part["shift"]
        if part["pointer"] and top < bits and value >> (top - 1):
            value |= (1 << bits) - (1 << top)
        return value

    def described(self, capability):
        name, fields = capability
        parts = (f"{part} {self.named(value) if part == 'object' else hex(value)}" for part, value in fields.items())
        return ", ".join([name, *parts])


class Command(gdb.Command):
    """A command that shows the kernel's state."""

    def __init__(self):
        super().__init__(self.NAME, gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        with privileged():
            for line in self.lines(Kernel(), argument.strip()):
                print(line)


class Threads(Command):
    """Show all threads: their states, priorities, cores, and budgets."""

    NAME = "threads"

    def lines(self, kernel, _):
        for thread in kernel.threads:
            context = target(thread["sched_context"])
            time = "passive"
            if context is not None:
                time = f"{kernel.us(number(context['budget']))} in {kernel.us(number(context['period']))}"
            place = f"priority {int(thread['priority'])}, core {int(thread['core'])}"
            yield f"{kernel.name(thread):<16} {kernel.state(thread)}, {place}, {time}"


class Contexts(Command):
    """Show all scheduling contexts of threads: budget, period, use, and replenishments."""

    NAME = "contexts"

    def lines(self, kernel, _):
        shown = set()
        for thread in kernel.threads:
            for field in ("own_context", "sched_context"):
                context = target(thread[field])
                if context is None or int(context.address) in shown:
                    continue
                shown.add(int(context.address))
                user = target(context["thread"])
                user = kernel.name(user) if user is not None else "nothing"
                budget, period = (kernel.us(number(context[name])) for name in ("budget", "period"))
                yield f"{kernel.named(int(context.address))}: {budget} in {period}, used by {user}"
                now = kernel.now(context)
                for time, amount in kernel.replenishments(context):
                    when = "now" if time <= now else f"in {kernel.us(time - now)}"
                    yield f"  {kernel.us(amount)} {when}"


class Capabilities(Command):
    """Show the capabilities of a component: capabilities NAME."""

    NAME = "capabilities"

    def lines(self, kernel, name):
        if not name:
            raise gdb.GdbError("which thread's? capabilities NAME; `threads` lists them")
        slots = kernel.thread(name)["slots"]
        # The root of its capability space is the first.
        root = kernel.capability(slots[0])
        if root is None or "radix" not in root[1]:
            raise gdb.GdbError(f"`{name}` has no capability space")
        first = gdb.Value(root[1]["object"]).cast(slots[0].type.pointer())
        for index in range(1 << root[1]["radix"]):
            capability = kernel.capability(first[index])
            if capability is not None:
                yield f"{index:>6} {kernel.described(capability)}"


class Queues(Command):
    """Show which threads are ready, which wait for a replenishment, and which wait at which object."""

    NAME = "queues"

    def lines(self, kernel, _):
        waiting, ready, release = {}, [], []
        for thread in kernel.threads:
            membership = variant(thread["membership"])
            key = int(thread["links"]["key"])
            order = (-int(thread["priority"]), key)
            if membership == "Ready":
                ready.append((int(thread["core"]), *order, thread))
            elif membership == "Release":
                release.append((int(thread["core"]), key, thread))
            elif membership == "Waiting":
                waiting.setdefault(self.place(thread), []).append((*order, thread))
        for core, priority, _, thread in sorted(ready, key=lambda one: one[:-1]):
            yield f"core {core}, ready: {kernel.name(thread)}, priority {-priority}"
        for core, time, thread in sorted(release, key=lambda one: one[:-1]):
            left = time - kernel.now(thread)
            when = "due" if left <= 0 else f"in {kernel.us(left)}"
            yield f"core {core}, waits for a replenishment: {kernel.name(thread)}, {when}"
        for (what, address), threads in sorted(waiting.items()):
            names = ", ".join(kernel.name(one[-1]) for one in sorted(threads, key=lambda one: one[:-1]))
            yield f"{what} {address:#x}: {names}"

    @staticmethod
    def place(thread):
        """What a thread waits for, by its state, and where."""
        state = variant(thread["state"])
        what = {"BlockedOnSend": "send to", "BlockedOnReceive": "receive from", "BlockedOnNotification": "signal of"}
        field = "notification" if state == "BlockedOnNotification" else "endpoint"
        handle = find(thread["state"], field)
        return what.get(state, state), word(handle)


class Symbols:
    """The symbols of one component at a time: the programs of several are at the same addresses."""

    loaded = None

    @classmethod
    def file(cls, name):
        return PROGRAMS.get(name)

    @classmethod
    def load(cls, file):
        if file == cls.loaded:
            return
        if cls.loaded is not None:
            gdb.execute(f"remove-symbol-file {cls.loaded}", to_string=True)
        cls.loaded = file
        if file is not None:
            gdb.execute(f"add-symbol-file {file}", to_string=True)


def running():
    """The name of the thread that the selected core runs; None if it idles, if the kernel has not started, or if QEMU does
    not show it."""
    try:
        with privileged():
            cores, core = Kernel.of_cores(), gdb.selected_thread().num - 1
            thread = target(find(cores[core], "core")["current"]) if core < len(cores) else None
            return None if thread is None else Kernel.name(thread)
    except gdb.GdbError as error:
        if str(error) != UNSEEN:
            raise
        return None


def follow(_event=None):
    """Loads the symbols of the program that runs, if the machine has not stopped in the kernel."""
    place = gdb.find_pc_line(gdb.newest_frame().pc()).symtab
    if place is not None and place.objfile == gdb.objfiles()[0]:
        return
    name = running()
    if name is not None:
        Symbols.load(PROGRAMS.get(name, ROOT_TASK))


class StopIn(gdb.Command):
    """Stop at a place in a component's program: stop-in COMPONENT FUNCTION|FILE:LINE."""

    class Place(gdb.Breakpoint):
        def __init__(self, component, address):
            super().__init__(f"*{address:#x}")
            self.component = component

        def stop(self):
            name = running()
            if name is None:
                print(f"this may be another component than `{self.component}`: QEMU does not show which one runs")
            return name in (None, self.component)

    def __init__(self):
        super().__init__("stop-in", gdb.COMMAND_BREAKPOINTS)

    def invoke(self, argument, from_tty):
        component, _, place = argument.strip().partition(" ")
        if component not in PROGRAMS:
            raise gdb.GdbError(f"there is no component `{component}`; there are: {', '.join(sorted(PROGRAMS))}")
        if not place:
            raise gdb.GdbError("where? stop-in COMPONENT FUNCTION|FILE:LINE")
        Symbols.load(PROGRAMS[component])
        for line in gdb.decode_line(place)[1] or ():
            if line.symtab is not None and line.symtab.objfile.filename == PROGRAMS[component]:
                self.Place(component, line.pc)
                return
        raise gdb.GdbError(f"the program of `{component}` has no `{place}`")


class Help(gdb.Command):
    """Commands for the kernel's objects: threads, contexts, capabilities NAME, queues, stop-in COMPONENT PLACE."""

    def __init__(self):
        super().__init__("escapement", gdb.COMMAND_SUPPORT)

    def invoke(self, argument, from_tty):
        print(self.__doc__)


for command in (Threads, Contexts, Capabilities, Queues, StopIn, Help):
    command()
gdb.events.stop.connect(follow)
