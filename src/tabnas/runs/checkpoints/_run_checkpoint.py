"""The ledger of a run: what is done, what is under way, and where both are kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any, NoReturn, Protocol

from numpy.typing import NDArray

from tabnas.errors import TabNASError
from tabnas.runs._ranks import ALONE, Ranks
from tabnas.runs.checkpoints._file import Arrays, has_checkpoint, read_checkpoint, write_checkpoint
from tabnas.states import subtree

EVERY = 60.0  # seconds from one checkpoint to the next
TICKS = 8
"""Ticks from one time to the next that the processes of a run ask each other whether to stop."""
MALFORMED = (
    KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError,
)  # fmt: skip


class Resumable(Protocol):
    """Work that can be stopped and gone on with elsewhere, bit for bit."""

    def state_dict(self) -> Mapping[str, NDArray[Any]]: ...

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None: ...


class Entries(Protocol):
    """What the steps of a run need of a ledger, or of a section of one."""

    def __contains__(self, name: str) -> bool: ...

    def facts(self, name: str) -> Any: ...

    def arrays(self, name: str) -> Arrays: ...

    def enter(
        self, name: str, facts: Any, arrays: Mapping[str, NDArray[Any]] | None = None
    ) -> None: ...

    def forget_arrays(self, name: str) -> None: ...

    def begin(self, name: str, work: Resumable) -> None: ...

    def tick(self) -> None: ...

    def save(self) -> None: ...

    def idle(self) -> AbstractContextManager[None]: ...


class Ledger:
    """Remembers the results of what is done, and the state of what is under way.

    A run is a sequence of entries, each with a name of its own. What an entry gave is *entered*, as
    facts (JSON) and arrays; a run that goes on finds it there and does not do it again. While the
    work of an entry goes on, `tick()` writes a checkpoint whenever one is due, and when the
    process is asked to stop.

    Without a folder nothing is ever written, and an interrupt is only that.

    Of several processes the first has the folder, and tells the others what is in it. If one is
    asked to stop, all stop at the same tick.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        identity: Mapping[str, Any] | None = None,
        every: float = EVERY,
        ranks: Ranks = ALONE,
    ) -> None:
        self._folder = folder
        self._ranks = ranks
        self._ticks = 0
        self._every = every
        self._identity = dict(identity or {})
        self._facts: dict[str, Any] = {}
        self._arrays: Arrays = {}
        self._running: tuple[str, Resumable] | None = None
        self._left: tuple[str, Arrays] | None = None  # work that another process left
        self._stop = 0  # the signal that asked for it
        self._idle = False  # whether nothing would be lost by stopping now
        self._last = monotonic()
        self.note = ""
        """What people should know about the checkpoint that was read."""
        self._restore()

    # -- what is done ------------------------------------------------------------------------------

    def __contains__(self, name: str) -> bool:
        return name in self._facts

    def facts(self, name: str) -> Any:
        """What an entry found out."""
        return self._facts[name]

    def arrays(self, name: str) -> Arrays:
        """The arrays of an entry."""
        return subtree(self._arrays, name)

    def enter(
        self, name: str, facts: Any, arrays: Mapping[str, NDArray[Any]] | None = None
    ) -> None:
        """Remember what an entry gave; whatever was under way is over."""
        self._facts[name] = facts
        self._arrays |= {f"{name}/{key}": array for key, array in (arrays or {}).items()}
        self._running = None

    def forget_arrays(self, name: str) -> None:
        """Let go of an entry's arrays, which nobody will need again."""
        for key in [key for key in self._arrays if key.startswith(f"{name}/")]:
            del self._arrays[key]

    # -- what is under way -------------------------------------------------------------------------

    def begin(self, name: str, work: Resumable) -> None:
        """Start with some work, or go on where another process left it."""
        if self._left is not None and self._left[0] == name:
            with believed():
                work.load_state_dict(self._left[1])
            self._left = None
        self._running = (name, work)

    def tick(self) -> None:
        """Write a checkpoint if it is time to, or if the process shall stop, which it does then."""
        stop = self._stop
        if self._ranks.size > 1:
            self._ticks += 1
            stop = self._ranks.largest(stop) if self._ticks % TICKS == 0 else 0
        if stop:
            self._save_and_stop(stop)
        if self._folder is not None and monotonic() - self._last >= self._every:
            self.save()

    def _save_and_stop(self, number: int) -> NoReturn:
        self.save()
        self._ranks.told(None)  # whoever left earlier would have the first be killed as it writes
        raise Stopped(number)

    def save(self) -> None:
        """Write a checkpoint now."""
        if self._folder is None:
            return
        running = None if self._running is None else self._running[0]
        facts = {"identity": self._identity, "done": self._facts, "running": running}
        arrays = {f"done/{name}": array for name, array in self._arrays.items()}
        if self._running is not None:
            state = self._running[1].state_dict()
            arrays |= {f"running/{name}": array for name, array in state.items()}
        try:
            write_checkpoint(self._folder, facts, arrays)
        except OSError as error:
            remedy = (
                "the last one is whole: make room and go on from it"
                if has_checkpoint(self._folder)
                else "there was none before it: make room and begin again"
            )
            raise TabNASError(
                f"no checkpoint can be written to {str(self._folder)!r} "
                f"({error.strerror or error}); {remedy}"
            ) from None
        self._last = monotonic()

    def _restore(self) -> None:
        """Take over what an earlier process has entered; the first finds it for all."""
        found = None if self._folder is None else read_checkpoint(self._folder)
        own, read, self.note = found or (None, {}, "")
        facts, arrays = self._ranks.told(own, read)
        if facts is None:
            return
        with believed():
            identity, done, running = (facts[name] for name in ("identity", "done", "running"))
            plain = all(isinstance(value, str | int) for value in identity.values())
            if not plain or not isinstance(done, dict) or not isinstance(running, str | None):
                raise TabNASError("it does not say what is done and what is under way")
        refuse_other_identity(identity, self._identity)
        self._facts = done
        self._arrays = subtree(arrays, "done")
        if running is not None:
            self._left = (running, subtree(arrays, "running"))

    # -- being asked to stop -----------------------------------------------------------------------

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Around work that has no state: all else is saved, and to be asked to stop ends it."""
        if self._stop:  # no tick: the others of several processes have nothing left to do
            self.save()
            raise Stopped(self._stop)
        self.save()
        self._idle = True
        try:
            yield
        finally:
            self._idle = False

    @contextmanager
    def watching_signals(self) -> Iterator[None]:
        """Until the end of the block, Ctrl-C and SIGTERM wait for the next `tick`.

        A second Ctrl-C does not, unless there are several processes: whoever has started them ends
        those that take too long. If SIGINT was ignored when the process began, as it is in the
        background of a script (`tabnas search ... &`), it stays ignored: that Ctrl-C is meant for
        another process. SIGTERM is sent to this one, so it is never ignored.
        """
        alone = self._ranks.size == 1
        unheard = threading.current_thread() is not threading.main_thread()
        if unheard or (alone and self._folder is None):
            yield
            return
        before: dict[int, Any] = {}

        def ask(number: int, frame: FrameType | None) -> None:
            if self._idle:
                raise Stopped(number)
            if self._stop and alone:
                signal.signal(number, before[number])
                signal.raise_signal(number)
            self._stop = number

        wanted_signals = [signal.SIGTERM]
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            wanted_signals.append(signal.SIGINT)
        for wanted in wanted_signals:
            before[wanted] = signal.signal(wanted, ask)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Section:
    """Entries of a ledger under a name of their own, for steps that are done more than once."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        self._ledger = ledger
        self._name = name

    def _full(self, name: str) -> str:
        return f"{self._name}/{name}"

    def __contains__(self, name: str) -> bool:
        return self._full(name) in self._ledger

    def facts(self, name: str) -> Any:
        return self._ledger.facts(self._full(name))

    def arrays(self, name: str) -> Arrays:
        return self._ledger.arrays(self._full(name))

    def enter(
        self, name: str, facts: Any, arrays: Mapping[str, NDArray[Any]] | None = None
    ) -> None:
        self._ledger.enter(self._full(name), facts, arrays)

    def forget_arrays(self, name: str) -> None:
        self._ledger.forget_arrays(self._full(name))

    def begin(self, name: str, work: Resumable) -> None:
        self._ledger.begin(self._full(name), work)

    def tick(self) -> None:
        self._ledger.tick()

    def save(self) -> None:
        self._ledger.save()

    def idle(self) -> AbstractContextManager[None]:
        return self._ledger.idle()


class Stopped(KeyboardInterrupt):
    """The run was asked to stop, and can be gone on with."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


@contextmanager
def believed() -> Iterator[None]:
    """Around what takes the content of a checkpoint at its word.

    A whole checkpoint can still be one that nobody's run has written: an error in here is the
    file's, and becomes a sentence.
    """
    try:
        yield
    except MALFORMED as error:
        problem = error if isinstance(error, TabNASError) else f"it is malformed, {error!r}"
        raise TabNASError(
            "the checkpoint must be one that this run has written, but it cannot be "
            f"({_short(problem, 300)}); make the run again from its start"
        ) from None


def refuse_other_identity(then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """A run goes on only with what it began with; the first difference is named."""
    for name in sorted(set(then) | set(now)):
        if then.get(name) != now.get(name):
            raise TabNASError(
                f"a run can go on only as it began, but {name} was {_short(then.get(name))} "
                f"and is {_short(now.get(name))}; undo the change, or begin a new run"
            )


def _short(value: Any, longest: int = 60) -> str:
    said = str(value)
    return said if len(said) <= longest else said[: longest - 3] + "..."
