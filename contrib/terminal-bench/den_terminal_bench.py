"""Agents of Terminal-Bench 1 whose terminal is den's.

    PYTHONPATH=contrib/terminal-bench DEN=bin/den \\
        tb run --agent-import-path den_terminal_bench:DenTerminus2 --model-name …
"""

import os
from pathlib import Path

from terminal_bench.agents.oracle_agent import OracleAgent
from terminal_bench.agents.terminus_2.terminus_2 import Terminus2

from den_session import DenSession


def by_den(agent):
    """The agent, with its loop as it is: what slept there waits for the program now."""

    class ByDen(agent):
        @staticmethod
        def name():
            return f"den-{agent.name()}"

        def perform_task(self, instruction, session, *args, **kwargs):
            den = DenSession("den-agent", session.container, user=session._user, binary=Path(os.environ.get("DEN", "bin/den")))
            den.start()
            try:
                return super().perform_task(instruction, den, *args, **kwargs)
            finally:
                den.record()  # not stop: the checks may need what the agent left running

    return ByDen


DenTerminus2 = by_den(Terminus2)
DenOracle = by_den(OracleAgent)
