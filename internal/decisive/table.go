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
		".git", "HEAD", ".gitattributes", ".gitmodules", ".gitconfig", ".config/git", ".hg", ".hgrc", ".jj", ".svn", ".sl",
	}},
	{"hooks of git", []string{
		".githooks", ".husky", ".huskyrc*", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "lefthook.y*ml", ".lefthook.y*ml",
		"lefthook-local.y*ml", ".lefthook-local.y*ml", "lefthook.toml", "lefthook.json", ".overcommit.yml",
	}},
	{"coding agents", []string{
		".mcp.json", ".agents",
		".claude", ".claude.json", ".codex", ".gemini", ".qwen", ".opencode", "opencode.json", "opencode.jsonc", ".config/opencode",
		".copilot", ".github/hooks", ".github/copilot", ".github/agents", ".cursor", ".amp", ".config/amp", ".cline", ".clinerules/hooks", ".roo", ".roomodes", ".kilocode",
		".kiro", ".windsurf", ".codeium", ".continue", ".aider.conf.y*ml", ".goose", ".config/goose", ".crush", "crush.json", ".crush.json",
		".augment", ".trae", ".junie", ".factory", ".openhands",
	}},
	{"editors", []string{
		".vscode", "*.code-workspace", ".idea", ".fleet", ".zed", ".helix", ".vim", ".vimrc", "_vimrc", ".exrc", ".nvimrc", ".nvim.lua", ".lvimrc", ".config/nvim",
		".dir-locals.el", ".dir-locals-2.el", ".emacs", ".emacs.d", ".devcontainer", ".devcontainer.json",
	}},
	{"shells and logins", []string{
		".envrc", ".direnv", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".mise", ".config/mise",
		".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc",
		".config/fish", ".ssh", ".xprofile", ".xsession", ".xinitrc", ".config/systemd", ".config/autostart", ".config/environment.d", "Library/LaunchAgents",
	}},
	{"servers that get it pushed", []string{
		".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci", ".buildkite", ".travis.yml", ".drone.yml", ".woodpecker", ".woodpecker.yml",
		"Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".cirrus.yml", ".forgejo/workflows", ".gitea/workflows",
	}},
}
