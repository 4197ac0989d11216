"""What hypothesis draws: threads with an event loop each, sessions on each loop, bursts of calls on each session."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

ANSWERS = ("ok", "tool_error", "error", "slow", "late", "twice", "invalid", "notify", "question")
"""The peer answers, sooner or later; to ``silent`` and ``gone`` it never does, and ``gone`` closes its streams."""
ENDINGS = ("none", "sdk", "wait_for", "scope", "cancel", "foreign_cancel", "close")
"""Who ends the call, if the peer does not: nobody, the SDK's read time-out, the caller's limit, a cancel from this
thread or from another, or a coroutine that is closed where it stands."""
LAYERS = ("sdk", "host", "lock", "retry")
"""What lies above the SDK: nothing, a host's call, one behind a lock, one that tries twice."""
METHODS = ("tools/call", "tools/call", "tools/call", "resources/read", "prompts/get")


@dataclass(frozen=True)
class Call:
    peer: str
    ending: str
    layer: str
    method: str


@dataclass(frozen=True)
class Session:
    handshake: str
    """``ok``, ``error`` or ``silent``."""
    bursts: tuple[tuple[Call, ...], ...]
    """The calls of a burst run at the same time; a burst begins when the one before is over."""
    leave: bool
    """The session is left while the last burst is open."""
    ping: bool


@dataclass(frozen=True)
class Plan:
    threads: tuple[tuple[Session, ...], ...]
    """The sessions of a thread run at the same time, on its loop."""

    def __repr__(self) -> str:
        calls = [[sum(map(len, session.bursts)) for session in sessions] for sessions in self.threads]
        return f"Plan of {calls} calls"  # in full it has some hundred lines; the blob brings it back


_calls = st.builds(
    Call,
    st.sampled_from((*ANSWERS * 5, *("silent",) * 4, "gone")),  # few, since what follows it is refused
    st.sampled_from(ENDINGS),
    st.sampled_from(LAYERS),
    st.sampled_from(METHODS),
)
_bursts = st.lists(st.lists(_calls, min_size=3, max_size=8).map(tuple), min_size=3, max_size=6).map(tuple)
_sessions = st.builds(
    Session, st.sampled_from((*("ok",) * 8, "error", "silent")), _bursts, st.booleans(), st.booleans()
)
plans = st.builds(
    Plan, st.lists(st.lists(_sessions, min_size=3, max_size=5).map(tuple), min_size=2, max_size=3).map(tuple)
)
