"""Harbor's agent Terminus 2 with den's terminal.

    PYTHONPATH=contrib/terminal-bench DEN=bin/den \\
        harbor run --agent-import-path den_harbor:DenTerminus2 --model …
"""

import os
from pathlib import Path

from harbor.agents.terminus_2.terminus_2 import Terminus2
from harbor.models.trial.paths import EnvironmentPaths

from den_session import HarborSession


class DenTerminus2(Terminus2):
    """Terminus 2, its loop as it is: what slept there waits for the program now."""

    @staticmethod
    def name():
        return "den-terminus-2"

    async def setup(self, environment):
        self._session = HarborSession(
            self.name(),
            environment,
            remote_asciinema_recording_path=EnvironmentPaths.agent_dir / "recording.cast" if self._record_terminal_session else None,
            pane_width=self._tmux_pane_width,
            pane_height=self._tmux_pane_height,
            binary=Path(os.environ.get("DEN", "bin/den")),
        )
        await self._session.start()

    async def run(self, *args, **kwargs):
        try:
            await super().run(*args, **kwargs)
        finally:
            await self._session.record()  # not stop: the checks may need what the agent left running
