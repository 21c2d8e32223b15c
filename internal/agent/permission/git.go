package permission

import (
	"path"
	"slices"
	"strings"

	"den/internal/agent/permission/commandline"
)

// git runs what a repository's configuration and its own options say. So a
// command of git is allowed only where it is known which repository it works
// on, and under its own name.

// gitPlain are options before git's subcommand that change nothing but what is
// printed and how paths are matched.
var gitPlain = []string{"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs", "--no-replace-objects"}

// gitElsewhere are options that have git work on another repository.
var gitElsewhere = []string{"-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--bare"}

// gitCommands are commands of git's own, which no alias can replace. A pattern
// with a star in place of the subcommand covers these.
var gitCommands = strings.Fields(`add am annotate apply blame branch bundle cat-file check-attr check-ignore checkout cherry cherry-pick clean clone commit commit-tree
	count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck gc grep hash-object log ls-files ls-remote ls-tree merge merge-base
	merge-tree mv name-rev notes patch-id prune pull push range-diff read-tree rebase reflog remote repack reset restore rev-list rev-parse revert rm shortlog show
	show-branch show-ref sparse-checkout stash status switch symbolic-ref tag update-index update-ref var verify-commit verify-tag whatchanged worktree write-tree`)

// gitCode are options of its subcommands that name a program, or a file that
// git writes to wherever it is.
var gitCode = []string{"--exec", "--upload-pack", "--receive-pack", "--ext-diff", "--open-files-in-pager", "--output", "--output-directory", "--template", "--config", "--extcmd", "--strategy"}

// gitCodeLetters are such options of one letter.
var gitCodeLetters = map[string]string{"rebase": "x", "grep": "O", "clone": "uc", "format-patch": "o", "merge": "s", "pull": "s"}

func isGit(name commandline.Word) bool { return strings.ToLower(path.Base(name.Text)) == "git" }

// gitAllowed reports whether a pattern that matches a command of git covers it:
// what it may not do by the way has to be written out.
func (p places) gitAllowed(pattern commandPattern, u use) bool {
	if u.elsewhere || !p.repository {
		return false
	}
	written := func(i int) bool { return i < len(pattern) && pattern[i].literal() }
	words, i := u.command.Words, len(u.command.Assigns())+1
	for ; i < len(words) && isOption(words[i]); i++ {
		name, _, joined := strings.Cut(words[i].Text, "=")
		switch {
		case slices.Contains(gitPlain, name):
		case slices.Contains(gitElsewhere, name), !written(i):
			return false
		case !joined && slices.Contains(globalOptions["git"].values, name):
			if i++; !written(i) {
				return false
			}
		}
	}
	if i >= len(words) {
		return true // git alone
	}
	subcommand := words[i]
	if subcommand.Dynamic || !written(i) && !slices.Contains(gitCommands, subcommand.Text) {
		return false
	}
	for j := i + 1; j < len(words); j++ {
		if !written(j) && isGitCode(subcommand.Text, words[j].Text) {
			return false
		}
	}
	return true
}

// isGitCode reports whether a word may be an option that names a program or a
// file to write. git takes long options that are cut short.
func isGitCode(subcommand, word string) bool {
	switch {
	case strings.HasPrefix(word, "--"):
		name, _, _ := strings.Cut(word, "=")
		return len(name) > 2 && slices.ContainsFunc(gitCode, func(code string) bool { return strings.HasPrefix(code, name) })
	case strings.HasPrefix(word, "-"):
		return strings.ContainsAny(word, gitCodeLetters[subcommand])
	}
	return false
}

// mayBeAnything reports whether a command of git may do what another one does:
// by an alias, which it defines itself or which the configuration has.
func mayBeAnything(words []commandline.Word) bool {
	if !isGit(words[0]) {
		return false
	}
	for i := 1; i < len(words); i++ {
		name, _, joined := strings.Cut(words[i].Text, "=")
		switch {
		case !isOption(words[i]):
			return words[i].Dynamic || !slices.Contains(gitCommands, words[i].Text) && !slices.Contains(gitOwn, words[i].Text)
		case name == "-c" || name == "--config-env" || name == "--exec-path" && joined:
			return true
		case !joined && slices.Contains(globalOptions["git"].values, name):
			i++
		}
	}
	return false
}

// gitOwn are further commands of git's own, which a star does not cover.
var gitOwn = []string{"config", "init", "submodule", "bisect", "difftool", "mergetool", "archive", "filter-branch", "help", "version", "send-email", "credential", "daemon", "hook", "maintenance"}
