package decisive

// A Group is a row of the table: who takes the files by itself, and how they
// are named.
type Group struct {
	// Reader is who reads the files, for people.
	Reader string
	// Names are paths of one or more names, to be found in any directory. They
	// ignore case; '*' stands for any characters of a name. Everything below a
	// directory that is named is meant too.
	Names []string
}

// Groups are the files that decide what a program runs or allows by itself: den
// at its next load, git in a directory, an editor that opens it, a shell that
// enters it, a coding agent that starts in it, or a server that gets it pushed.
//
// What runs only when somebody runs it (Makefile, package.json, .npmrc, build
// files) is not here: it is the agent's work, and running it is asked for. Nor
// are texts that only instruct (AGENTS.md, CLAUDE.md, .cursorrules): an agent
// that follows them still asks.
var Groups = []Group{
	{"den", []string{".den", "den.toml", "den.yaml", "den.yml", "agents.yaml", "agents.yml"}},
	{"git and its like", []string{
		// A directory with a HEAD can be a repository, whose configuration runs code.
		".git", "HEAD", ".gitattributes", ".gitmodules", ".gitconfig", ".config/git", ".bzr", ".pijul", ".config/jj", ".config/hg", ".hg", ".hgrc", ".jj", ".svn", ".sl",
	}},
	{"hooks of git", []string{
		".githooks", ".husky", ".huskyrc", ".huskyrc.js", ".huskyrc.json", ".huskyrc.y*ml", "husky.config.js", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml",
		"lefthook.y*ml", ".lefthook.y*ml",
		"lefthook-local.y*ml", ".lefthook-local.y*ml", "lefthook.toml", "lefthook.json", ".overcommit.yml", ".git-hooks", "prek.toml", ".captainhook.json", "captainhook.json",
		"grumphp.yml", ".rusty-hook.toml", ".cargo-husky",
		// Where core.hooksPath leads, and in a repository without a work tree.
		"hooks/applypatch-msg", "hooks/commit-msg", "hooks/fsmonitor-watchman", "hooks/post-applypatch", "hooks/post-checkout", "hooks/post-commit", "hooks/post-index-change",
		"hooks/post-merge", "hooks/post-receive", "hooks/post-rewrite", "hooks/post-update", "hooks/pre-applypatch", "hooks/pre-auto-gc", "hooks/pre-commit", "hooks/pre-merge-commit",
		"hooks/pre-push", "hooks/pre-rebase", "hooks/pre-receive", "hooks/prepare-commit-msg", "hooks/proc-receive", "hooks/push-to-checkout", "hooks/reference-transaction",
		"hooks/sendemail-validate", "hooks/update",
	}},
	{"coding agents", []string{
		".mcp.json", ".agents",
		".claude", ".claude.json", ".codex", ".gemini", ".qwen", ".opencode", "opencode.json", "opencode.jsonc", ".config/opencode",
		".copilot", ".github/hooks", ".github/copilot", ".github/agents", ".cursor", ".amp", ".config/amp", ".cline", ".clinerules/hooks", ".roo", ".roomodes", ".kilocode",
		".kiro", ".windsurf", ".codeium", ".continue", ".aider.conf.y*ml", ".goose", ".config/goose", ".crush", "crush.json", ".crush.json",
		".augment", ".trae", ".junie", ".factory", ".openhands",
	}},
	{"editors", []string{
		".vscode", "*.code-workspace", ".idea", ".fleet", ".zed", ".helix", ".vim", ".vimrc", "_vimrc", ".exrc", "_exrc", ".gvimrc", "_gvimrc", ".ideavimrc", ".nvimrc", ".nvim",
		".config/vim", "vimfiles", ".nvim.lua", ".lvimrc", ".config/nvim",
		".dir-locals.el", ".dir-locals-2.el", ".emacs", ".emacs.d", ".emacs.el", ".config/emacs", ".config/helix", ".config/zed", ".config/Code", ".devcontainer", ".devcontainer.json",
	}},
	{"shells and logins", []string{
		".envrc", ".direnv", ".autoenv", ".autoenv.zsh", ".autoenv_leave.zsh", ".autoenv.leave", ".env.leave", "mise.toml", ".mise.toml", "mise.*.toml", ".mise.*.toml",
		"mise/config.toml", "mise/config.*.toml", ".mise", ".config/mise", ".config/mise.toml", ".config/mise.*.toml", ".rtx.toml", ".shadowenv.d",
		".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".zlogin.zwc",
		".zshrc.zwc", ".zshenv.zwc", ".kshrc", ".mkshrc", ".yashrc", ".inputrc",
		".cshrc", ".tcshrc", ".login", ".logout", ".oh-my-zsh", ".zsh", ".bashrc.d", ".bash_completion", ".bash_completion.d", ".config/bash", ".config/zsh", ".config/nushell",
		".config/xonsh", ".xonshrc", ".elvish", ".config/elvish", ".config/powershell",
		".config/fish", ".ssh", ".pam_environment", ".xprofile", ".xsession", ".xsessionrc", ".xinitrc", ".xserverrc", ".config/plasma-workspace", ".config/i3", ".config/sway",
		".config/hypr", ".config/openbox",
		".local/bin", ".local/share/systemd", ".local/share/applications", ".local/share/dbus-1", ".tmux.conf", ".config/tmux", ".screenrc", ".config/kitty", ".config/wezterm",
		".wezterm.lua", ".pythonrc", ".pdbrc", ".gdbinit", ".lldbinit", ".irbrc", ".pryrc", ".Rprofile", ".forward", ".procmailrc", ".config/systemd", ".config/autostart",
		".config/environment.d", "Library/LaunchAgents",
	}},
	{"servers that get it pushed", []string{
		".github/workflows", ".github/actions", ".gitlab-ci.y*ml", ".circleci", ".buildkite", ".travis.yml", ".drone.y*ml", ".drone.jsonnet", ".drone.star", ".woodpecker", ".woodpecker.y*ml",
		"Jenkinsfile", "azure-pipelines.y*ml", ".azure-pipelines", "bitbucket-pipelines.yml", ".cirrus.y*ml", ".cirrus.star", ".forgejo/workflows", ".forgejo/actions",
		".gitea/workflows", ".gitea/actions",
		".gitlab/ci", ".gitlab-ci", ".build.yml", ".builds", ".appveyor.yml", "appveyor.yml", ".semaphore", ".teamcity", ".buddy", "buddy.yml", ".tekton", ".screwdriver",
		"screwdriver.yaml", "wercker.yml", "codefresh.yml", ".codefresh",
		"buildspec.y*ml", "cloudbuild.yaml", "cloudbuild.json", "codemagic.yaml", "bitrise.yml", ".zuul.yaml", ".zuul.d", "zuul.yaml", "zuul.d", ".packit.yaml",
		"readthedocs.y*ml", ".readthedocs.y*ml", "netlify.toml", "vercel.json", "render.yaml",
	}},
}
