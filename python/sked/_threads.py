"""Threads that run a schedule: every device does its jobs in order and waits where it must."""

from __future__ import annotations

import contextlib
import functools
import queue
import threading
import time
import weakref
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    ContextManager,
    Dict,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

import numpy as np

from ._check import integer

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Job(NamedTuple):
    """What a device does at one time.

    Attributes:
        number: of the job; others wait for it by this number.
        waits: numbers of jobs that must have finished.
        signals: some other device waits for this one.
        call: the work.
    """

    number: int
    waits: Tuple[int, ...]
    signals: bool
    call: Callable[[], None]


class _Run:
    """One run of all jobs."""

    def __init__(self, jobs: Sequence[Sequence[Job]], count: int) -> None:
        self._done: Dict[int, threading.Event] = {
            j.number: threading.Event() for d in jobs for j in d if j.signals
        }
        self.failure: Optional[BaseException] = None
        self.start = np.zeros(count)
        self.finish = np.zeros(count)
        self._zero = time.perf_counter()

    def work(self, jobs: Sequence[Job], finished: Callable[[], Any]) -> None:
        try:
            for job in jobs:
                self._do(job)
        except BaseException as error:
            self.failure = self.failure or error
            for event in self._done.values():
                event.set()  # no thread waits for what will not come
        finally:
            finished()

    def _do(self, job: Job) -> None:
        for other in job.waits:
            self._done[other].wait()
        if self.failure is not None:
            return
        self.start[job.number] = time.perf_counter() - self._zero
        job.call()
        self.finish[job.number] = time.perf_counter() - self._zero
        if job.signals:
            self._done[job.number].set()


_Jobs = List["queue.SimpleQueue[Optional[Callable[[], None]]]"]


class Crew:
    """One thread for each device. They end when the crew is closed or collected.

    Args:
        devices: how many.
        around: what holds on each thread for as long as it lives.
    """

    def __init__(
        self, devices: int, around: Callable[[], ContextManager[Any]] = contextlib.nullcontext
    ) -> None:
        if integer(devices, "devices", most=1024) < 1:
            raise ValueError(f"devices must be 1 or more, not {devices}")
        self._queues: _Jobs = []
        self._one_at_a_time = threading.Lock()
        threads: List[threading.Thread] = []
        self._end = weakref.finalize(self, _dismiss, self._queues, threads)
        for _ in range(devices):
            ready = threading.Event()
            self._queues.append(queue.SimpleQueue())
            thread = threading.Thread(
                target=self._work, args=(self._queues[-1], around, ready), daemon=True
            )
            thread.start()
            threads.append(thread)
            ready.wait()

    @staticmethod
    def _work(
        jobs: "queue.SimpleQueue[Optional[Callable[[], None]]]",
        around: Callable[[], ContextManager[Any]],
        ready: threading.Event,
    ) -> None:
        with around():
            ready.set()
            while True:
                job = jobs.get()
                if job is None:
                    return
                job()

    def run(
        self, jobs: Sequence[Sequence[Job]], count: int
    ) -> "Tuple[NDArray[np.float64], NDArray[np.float64]]":
        """Runs the jobs of every device, `count` in all. Runs of several threads take turns: their
        jobs would wait for one another.

        Returns:
            Start and finish of every job, in microseconds from the start of the run.

        Raises:
            BaseException: whatever a job raised first.
        """
        if not self._end.alive:
            raise RuntimeError("the threads of this target are closed")
        with self._one_at_a_time:
            return self._run(jobs, count)

    def _run(
        self, jobs: Sequence[Sequence[Job]], count: int
    ) -> "Tuple[NDArray[np.float64], NDArray[np.float64]]":
        finished = threading.Semaphore(0)
        run = _Run(jobs, count)
        busy = [d for d in range(len(jobs)) if jobs[d]]
        for d in busy:
            self._queues[d].put(functools.partial(run.work, jobs[d], finished.release))
        for _ in busy:
            finished.acquire()
        if run.failure is not None:
            raise run.failure
        return 1e6 * run.start, 1e6 * run.finish

    def close(self) -> None:
        """Ends the threads."""
        self._end()


def _dismiss(queues: _Jobs, threads: Sequence[threading.Thread]) -> None:
    """Ends the threads. One that wakes up while Python shuts down would take the process with it,
    so they are waited for; not for ever, where a job hangs."""
    for jobs in queues:
        jobs.put(None)
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(1.0)
