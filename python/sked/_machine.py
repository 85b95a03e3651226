"""Machines: devices and the links between them."""

from __future__ import annotations

import math
import os
import threading
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from ._built import file_of, finished
from ._check import c_option, c_path, flag, integer, keywords, real
from ._errors import ArgumentError, c_text, call, text
from ._native import ffi, lib


class Device(NamedTuple):
    """A device of a machine.

    Attributes:
        name: unique.
        type: what links and durations can name; None: none.
        speed: durations are divided by it.
        memory: how much it holds; inf: no limit.
    """

    name: str
    type: Optional[str]
    speed: float
    memory: float


class Machine:
    """Devices, each of which runs one op at a time, and the links between them.

    `Machine.identical` is the short form. Otherwise add devices and links, then use it: the first
    use checks it and makes it read-only. Threads may build one machine: calls take turns.

    Args:
        name: of the machine.
        latency: of pairs of devices without a link of their own. None for both: they cannot
            exchange data.
        bandwidth: likewise.

    Examples:
        >>> m = sked.Machine("node", latency=5, bandwidth=100)
        >>> m.add_device("cpu0", type="cpu")
        >>> m.add_device("gpu0", type="gpu", speed=8, memory=24e9)
        >>> m.add_link("cpu", "gpu", latency=10, bandwidth=2500)
    """

    @keywords()
    def __init__(
        self, name: str = "", *, latency: Optional[float] = None, bandwidth: Optional[float] = None
    ) -> None:
        self._lock = threading.RLock()
        self._identical: Optional[Tuple[int, float, float]] = None
        self._built: Any = None
        out = ffi.new("sked_machine_builder **")
        call(lib.sked_machine_builder_create, c_text(name), out)
        self._builder: Any = ffi.gc(out[0], lib.sked_machine_builder_destroy)
        if latency is not None or bandwidth is not None:
            given = (
                0.0 if latency is None else real(latency, "latency"),
                math.inf if bandwidth is None else real(bandwidth, "bandwidth"),
            )
            call(lib.sked_machine_builder_set_link, self._builder, *given)

    @classmethod
    @keywords()
    def identical(
        cls, devices: int, *, latency: float = 0.0, bandwidth: float = math.inf
    ) -> "Machine":
        """A machine of equal devices.

        Args:
            devices: how many, 1 or more.
            latency: of data that passes between two of them.
            bandwidth: bytes per time unit between two of them; inf: free.
        """
        count = integer(devices, "devices", 1)
        wait, speed = real(latency, "latency"), real(bandwidth, "bandwidth")
        if not (0 <= wait < math.inf and speed > 0):
            raise ArgumentError(
                "latency must be a finite number, 0 or more, and bandwidth above 0, "
                f"not {wait:g} and {speed:g}"
            )
        machine = cls._take(None)
        machine._identical = (count, wait, speed)
        return machine

    @classmethod
    def _take(cls, c_machine: Any) -> "Machine":
        machine = cls.__new__(cls)
        machine._lock = threading.RLock()
        machine._builder = machine._identical = None
        machine._built = c_machine
        return machine

    @classmethod
    def read(cls, path: "Union[str, os.PathLike[str]]") -> "Machine":
        """Reads a machine file (sked-machine-1)."""
        out = ffi.new("sked_machine **")
        call(lib.sked_machine_read, c_path(path), out)
        return cls._take(ffi.gc(out[0], lib.sked_machine_destroy))

    def _open(self) -> Any:
        if self._builder is None:
            raise ArgumentError("the machine is in use, or made of equal devices: it is read-only")
        return self._builder

    @keywords()
    def add_device(
        self,
        name: str,
        *,
        type: Optional[str] = None,
        speed: float = 1.0,
        memory: float = math.inf,
    ) -> int:
        """Adds a device.

        Args:
            name: unique.
            type: what links and durations can name.
            speed: durations are divided by it.
            memory: how much it holds.

        Returns:
            Its index.
        """
        out = ffi.new("int32_t *")
        given = (c_text(name), c_option(type), real(speed, "speed"), real(memory, "memory"), out)
        with self._lock:
            call(lib.sked_machine_builder_add_device, self._open(), *given)
        return int(out[0])

    @keywords()
    def add_link(
        self,
        from_: str,
        to: str,
        *,
        latency: float = 0.0,
        bandwidth: float = math.inf,
        oneway: bool = False,
    ) -> None:
        """Adds a link between devices, or between all devices of two types.

        Args:
            from_: name of a device or a type.
            to: name of a device or a type.
            latency: of data that passes.
            bandwidth: bytes per time unit.
            oneway: from `from_` to `to` only.
        """
        given = (c_text(from_), c_text(to), real(latency, "latency"), real(bandwidth, "bandwidth"))
        with self._lock:
            call(lib.sked_machine_builder_add_link, self._open(), *given, flag(oneway, "oneway"))

    @keywords()
    def add_duration(self, op: str, time: Optional[float], *, on: Optional[str] = None) -> None:
        """Adds a measured time of an op on this machine to its profile (`Graph.profiled`).

        Args:
            op: name of the op.
            time: None: it cannot run there.
            on: name of a device or a type; None: in place of the op's duration.
        """
        given = (c_text(op), c_option(on), math.inf if time is None else real(time, "time"))
        with self._lock:
            call(lib.sked_machine_builder_add_duration, self._open(), *given)

    @property
    def _c(self) -> Any:
        """The finished machine; NULL where it is one of equal devices."""
        if self._identical is not None:
            return ffi.NULL
        destroy = lib.sked_machine_destroy
        return finished(self, "sked_machine", lib.sked_machine_builder_finish, destroy)

    def __len__(self) -> int:
        """Number of devices."""
        if self._identical is not None:
            return self._identical[0]
        return int(lib.sked_machine_device_count(self._c))

    @property
    def name(self) -> str:
        """Name of the machine; "" where it has none."""
        return "" if self._identical is not None else text(lib.sked_machine_name(self._c))

    @property
    def devices(self) -> List[Device]:
        """The devices, by index."""
        if self._identical is not None:
            return [Device(str(i), None, 1.0, math.inf) for i in range(len(self))]
        m = self._c
        return [
            Device(
                text(lib.sked_machine_device_name(m, i)),
                text(lib.sked_machine_device_type(m, i)) or None,
                float(lib.sked_machine_device_speed(m, i)),
                float(lib.sked_machine_device_memory(m, i)),
            )
            for i in range(len(self))
        ]

    def link(self, from_: int, to: int) -> Optional[Tuple[float, float]]:
        """Latency and bandwidth between two devices by index; None: they cannot exchange data."""
        ends = (integer(from_, "from_"), integer(to, "to"))
        for device in ends:
            if not 0 <= device < len(self):
                raise ArgumentError(f"there is no device {device}: the machine has {len(self)}")
        if self._identical is not None:
            return (0.0, math.inf) if ends[0] == ends[1] else self._identical[1:]
        out = ffi.new("double[2]")
        joined = lib.sked_machine_link(self._c, *ends, out, out + 1)
        return (float(out[0]), float(out[1])) if joined else None

    @property
    def profile(self) -> Dict[Tuple[str, Optional[str]], float]:
        """Measured times by (op, device or type); inf: it cannot run there."""
        found: Dict[Tuple[str, Optional[str]], float] = {}
        op, on, time = ffi.new("const char **"), ffi.new("const char **"), ffi.new("double *")
        for i in range(0 if self._identical else lib.sked_machine_duration_count(self._c)):
            lib.sked_machine_duration(self._c, i, op, on, time)
            found[text(op[0]), text(on[0]) or None] = float(time[0])
        return found

    def save(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Writes the machine as a file that `read` and `--machine` take."""
        if self._identical is not None:
            self._written_out().save(path)
        else:
            call(lib.sked_machine_write, self._c, c_path(path))

    def __reduce__(self) -> Any:
        if self._identical is not None:
            return _equal_devices, self._identical
        return _parsed, (file_of(self.save),)

    def _written_out(self) -> "Machine":
        """The same machine with a device written out for each of the equal ones."""
        count, latency, bandwidth = self._identical or (0, 0.0, math.inf)
        machine = Machine(latency=latency, bandwidth=bandwidth)
        for i in range(count):
            machine.add_device(str(i))
        return machine

    def __repr__(self) -> str:
        if self._identical is not None:
            count, latency, bandwidth = self._identical
            return f"sked.Machine.identical({count}, latency={latency:g}, bandwidth={bandwidth:g})"
        if self._built is None:
            return "<sked.Machine, not in use yet>"
        return f"<sked.Machine {self.name!r}: {', '.join(d.name for d in self.devices)}>"


def _equal_devices(devices: int, latency: float, bandwidth: float) -> Machine:
    return Machine.identical(devices, latency=latency, bandwidth=bandwidth)


def _parsed(data: bytes) -> Machine:
    out = ffi.new("sked_machine **")
    call(lib.sked_machine_parse, c_text("machine.json"), ffi.from_buffer(data), len(data), out)
    return Machine._take(ffi.gc(out[0], lib.sked_machine_destroy))


MachineLike = Union[Machine, int, None]
