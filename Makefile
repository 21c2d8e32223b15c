# den: `make help` lists everything.
GO      ?= go
BIN     := bin/den
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X den/internal/base/build.Version=$(VERSION)
PREFIX  ?= /usr/local
# How den is built, and looked at: what was compiled for the one serves the other.
BUILDENV := CGO_ENABLED=0 GOFLAGS=-trimpath
FUZZTIME ?= 10m
# What 'make test' and 'make test-loaded' test.
PACKAGES_UNDER_TEST ?= ./...

# What the tests and the demo run for real. Debian's package names.
PACKAGES := tmux vim-nox nano less htop mc git asciinema bash zsh fish dash busybox procps \
	openssh-server openssh-client sudo bc dc sqlite3 gdb python3 perl lua5.4 nodejs ruby ruby-reline fzf redis-tools postgresql util-linux \
	chromium ffmpeg fonts-noto-color-emoji

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z][a-z-]*:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: setup
setup: ## install the tools that the tests drive (apt-get, where it may)
	@sh scripts/setup $(PACKAGES)
	@sh scripts/container-setup

.PHONY: build
build: ## build bin/den and bin/dend, static
	$(BUILDENV) $(GO) build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/den ./cmd/dend

.PHONY: install
install: build ## install den, its manual and its completions below PREFIX
	install -D -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/den
	install -D -m 755 bin/dend $(DESTDIR)$(PREFIX)/bin/dend
	for name in k km agent-tty; do ln -sf den $(DESTDIR)$(PREFIX)/bin/$$name; done
	$(BIN) man --dir $(DESTDIR)$(PREFIX)/share/man/man1
	mkdir -p $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	$(BIN) completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/den

.PHONY: demo
demo: setup build ## see it work: a shell, a REPL, an editor, a crash, a picture, a recording
	@sh examples/demo.sh $(BIN)

.PHONY: readme-media
readme-media: build ## make the README's pictures: a story with real coding agents, filmed, and both dashboards
	@sh scripts/readme-media

.PHONY: readme-promote
readme-promote: build ## make the README's pictures three times, and replace those that are there if nothing leaked and PROMOTE_SEEN=yes
	@runs=$$(mktemp -d) && for n in 1 2 3; do \
		OUT=$$runs/$$n/pictures LOGS=$$runs/$$n/logs sh scripts/readme-media || exit 1; \
	done && sh scripts/promote docs/media $$runs/1 $$runs/2 $$runs/3

.PHONY: lint
lint: ## gofmt, go vet, staticcheck, what no program reaches, and a build for other systems
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(BUILDENV) $(GO) vet ./...
	$(BUILDENV) $(GO) tool staticcheck ./...
	$(BUILDENV) $(GO) run ./scripts/reach
	$(BUILDENV) GOOS=darwin $(GO) vet ./...

# Most tests wait for programs: more run at once than there are cores.
# Without tables for debuggers, a test binary links in half the time.
SUITE := DEN_TEST_BIN=$(CURDIR)/bin GOFLAGS=-trimpath $(GO) test -race -vet=off -ldflags=-w -p 4 -parallel 4

.PHONY: test
test: setup lint build ## everything that must hold: lint, tests with the race detector, whole-binary scripts
	$(SUITE) -timeout 30m $(PACKAGES_UNDER_TEST)

.PHONY: test-loaded
test-loaded: setup lint build ## the same beside eight busy loops: finds tests, and code, that need luck
	sh scripts/loaded 8 env $(SUITE) -count 1 -timeout 90m $(PACKAGES_UNDER_TEST)

.PHONY: bench
bench: setup build ## den and its peers side by side, in one run
	cd bench && $(GO) run . -den ../$(BIN)

.PHONY: bench-terminal-bench
bench-terminal-bench: build ## den beside tmux as the terminal of Terminal-Bench: TERMINAL_BENCH=CHECKOUT [HARBOR=CHECKOUT] [HARBOR_COOKBOOK=CHECKOUT]
	@sh contrib/terminal-bench/bench $(BIN) '$(TERMINAL_BENCH)' '$(HARBOR)' '$(HARBOR_COOKBOOK)'

.PHONY: test-terminal-bench
test-terminal-bench: build ## the session classes for Terminal-Bench, with a real den on this machine
	cd contrib/terminal-bench && DEN_TEST_BIN=$(CURDIR)/bin /usr/bin/python3 -m unittest

.PHONY: fuzz
fuzz: ## each fuzzer for FUZZTIME (default 10m)
	@sh scripts/fuzz $(FUZZTIME)

.PHONY: diff-xterm
diff-xterm: ## compare the emulator with xterm.js cell by cell (installs a pinned @xterm/headless from npm)
	DEN_XTERM_JS="$$(sh scripts/xterm-js)" $(GO) test -count 1 -run 'TestXtermJS' -v ./internal/screen/vt/

.PHONY: soak
soak: build ## kill hosts at random under output, 500 times
	DEN_SOAK=500 $(GO) test -count 1 -timeout 60m -run TestKilledHosts -v ./acceptance/

.PHONY: leftovers
leftovers: ## random input left in four shells before cells, 10,000 times
	DEN_LEFTOVERS=10000 $(GO) test -count 1 -timeout 240m -parallel 8 -run TestRandomLeftovers -v ./internal/session/

.PHONY: truth
truth: ## 100,000 random cells whose output and status are known, in shells, in shells inside them, behind ssh and podman exec, and in REPLs: each answer is the truth, or says what it lacks
	DEN_CELLS=5900 DEN_TEST_PODMAN=1 $(GO) test -count 1 -timeout 240m -run TestCellsTellTheTruth -v ./internal/session/

.PHONY: test-scripts
test-scripts: setup build ## scripts of recordings of vim, mc, a coding agent and den's dashboard, 50 plays each; 50 random sessions, too
	DEN_TEST_AGENTS=1 DEN_SCRIPT_PLAYS=50 DEN_TEST_BIN=$(CURDIR)/bin PATH="$$(sh scripts/agents codex):$$PATH" $(GO) test -count 1 -timeout 120m -run TestScriptsOfPrograms -v ./acceptance/
	DEN_SCRIPTS=50 DEN_TEST_BIN=$(CURDIR)/bin $(GO) test -count 1 -timeout 60m -parallel 2 -run TestRandomSessionsPlay -v ./internal/session/script/

.PHONY: jail
jail: ## run what the default policy allows unasked in real shells, of DEN_JAIL (100,000) lines for each
	DEN_JAIL=$${DEN_JAIL:-100000} DEN_JAIL_SEED=$${DEN_JAIL_SEED:-$$(date +%s)} DEN_TEST_REQUIRE=1 $(GO) test -count 1 -timeout 240m -run TestAllowedLinesDoNoHarm -v ./internal/agent/permission/

.PHONY: floods
floods: setup ## the dashboard's page beside fifty sessions that flood
	DEN_FLOODS=50 $(GO) test -count 1 -timeout 30m -run TestFloodStaysUsable -v ./internal/ui/dashboard/web/

.PHONY: stress
stress: build ## cells of 50 clients for two minutes, 200 cells a second for one, and a cell of 1 GiB
	DEN_STRESS=50 DEN_STRESS_TIME=2m $(GO) test -race -count 1 -timeout 60m -run 'TestCellStress' -v ./acceptance/
	DEN_STRESS=50 $(GO) test -count 1 -timeout 60m -run 'TestCellRate|TestCellLines' -v ./acceptance/

.PHONY: chaos
chaos: build ## kill keepers in starts, hosts and agents, ruin the file, count agents and nudges: three minutes a provider
	DEN_CHAOS=3m $(GO) test -race -count 1 -timeout 30m -run TestChaos -v ./acceptance/

.PHONY: load
load: build ## 50 agents, 20 people in five channels and in private, 5,000 mentions, kills of harnesses and of the server: every answer once, to its own asker
	DEN_LOAD=1 $(GO) test -count 1 -timeout 30m -run TestTeamUnderLoad -v ./acceptance/

.PHONY: attack
attack: setup build ## try every known attack on den again, and print what each got; needs root for those of another user
	$(GO) run ./scripts/attack -write
	DEN_TEST_BIN=$(CURDIR)/bin DEN_TEST_REQUIRE=1 DEN_TEST_PODMAN=1 $(GO) run ./scripts/attack

.PHONY: test-podman
test-podman: setup ## in containers of podman: shell marks, cells, agents that talk, agents that move, and agents that sleep and wake
	DEN_TEST_PODMAN=1 $(GO) test -count 1 -timeout 10m -run 'TestMarksInAContainer|TestHarnessBesideAContainer|TestAgentsLeaveContainers|TestKernelInAContainer' -v ./acceptance/
	DEN_TEST_PODMAN=1 $(GO) test -count 1 -timeout 10m -run 'TestCellsTellTheTruth/podman' -v ./internal/session/

.PHONY: image
image: build ## den's image as bin/den-image.tar, for clusters: it has the keeper, and brings den into pods
	@rm -rf bin/image && mkdir -p bin/image && cp $(BIN) bin/dend bin/image/
	@sh scripts/image den:$(VERSION) bin/image bin/den-image.tar && rm -rf bin/image && echo bin/den-image.tar has den:$(VERSION)

.PHONY: test-kubernetes
test-kubernetes: build ## agents in pods of a real one-node cluster, which is built (once), started and removed; needs root
	cd deploy/charttest && $(GO) test -count 1 ./...
	DEN_TEST_BIN=$(CURDIR)/bin sh scripts/test-kubernetes $(BIN) sh -c '\
		$(GO) test -race -count 1 -parallel 16 -timeout 60m -v ./internal/place/provider/kubernetes/ && \
		$(GO) test -count 1 -timeout 20m -v -run TestCluster ./internal/keeper/lead/'

.PHONY: bench-kubernetes
bench-kubernetes: build ## agents in pods: 10, 50 and 200 on simulated nodes, 20 real ones, latencies beside kubectl; needs root
	cd bench && $(GO) build -o ../bin/bench .
	sh scripts/test-kubernetes $(BIN) bin/bench -den $(BIN) -only kubernetes

.PHONY: kubernetes-media
kubernetes-media: build ## make the picture of docs/kubernetes.md: the dashboard with agents in pods of a real cluster; needs root
	sh scripts/readme-media pods

# Chat servers and clients that den's own are tested with.
IRC_PACKAGES := ngircd inspircd atheme-services ii irssi weechat-headless weechat-plugins nodejs npm util-linux

.PHONY: test-irc
test-irc: ## den's chat client against ngircd and inspircd with atheme; its server with ii, irssi, weechat and irc-framework; a person in irssi beside the example
	@sh scripts/setup $(IRC_PACKAGES)
	DEN_IRC_FRAMEWORK="$$(sh scripts/irc-framework)" DEN_TEST_IRC=1 DEN_TEST_REQUIRE=1 $(GO) test -count 1 -timeout 10m -v ./internal/testkit/irctest/
	DEN_TEST_IRC=1 DEN_TEST_REQUIRE=1 $(GO) test -count 1 -timeout 10m -run TestPersonInIrssi -v ./acceptance/

.PHONY: test-mcp
test-mcp: ## every tool of den mcp by the MCP inspector, over stdio and HTTP, and the protocol's conformance tests (installs both, pinned, from npm)
	DEN_MCP_INSPECTOR="$$(sh scripts/mcp-inspector)" DEN_MCP_CONFORMANCE="$$(sh scripts/mcp-conformance)" $(GO) test -count 1 -timeout 20m -run 'TestMCPInspector|TestMCPConformance' -v ./acceptance/

.PHONY: test-agents
test-agents: setup ## install pinned coding agents from npm and drive them against a model stub
	PATH="$$(sh scripts/agents):$$PATH" DEN_TEST_AGENTS=1 $(GO) test -count 1 -timeout 40m -run "TestRealAgents|TestAgentApprovals|TestAgentStates|TestAgentPictures|TestAgentAnswers|TestAgentSkill|TestAgentKernel|TestAgentMCP|TestAgentPolicy" -v ./acceptance/
	DEN_TEST_AGENTS=1 $(GO) test -count 1 -timeout 20m -parallel 4 -run TestRealHarnesses -v ./acceptance/
	DEN_TEST_AGENTS=1 $(GO) test -count 1 -timeout 10m -v ./internal/testkit/modelstub/realcli/
	DEN_TEST_AGENTS=1 $(GO) test -count 1 -timeout 20m -run TestReal -v ./internal/agent/runner/claude/ ./internal/agent/runner/codex/
	DEN_TEST_AGENTS=1 $(GO) test -count 1 -timeout 20m -run TestReal -v ./internal/agent/runner/acp/ ./internal/agent/runner/copilot/
