package permission

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"den/internal/agent/permission/commandline"
)

// writer is a program that changes the files that its arguments name.
type writer struct {
	// inPlace are the letters of options without which it does not, "" where it
	// always does.
	inPlace string
	// script is that its first argument is no file, or the value of -e.
	script bool
	// only are the letters of options whose value is the one file that it
	// writes, "" where every argument may be.
	only string
	// moves is that it puts whole directories somewhere else, or away.
	moves bool
	// strips is that it makes the files whose names, with one more extension, it
	// is given.
	strips bool
	// contents reports that it makes files that no argument names, or nil.
	contents func(p directories, args []commandline.Word) bool
}

// writers are those whose arguments a person is asked about where they are not
// known before they run. What is missing here is judged by the names that it is
// given.
var writers = map[string]writer{
	"tee": {}, "dd": {}, "sponge": {}, "ed": {}, "ex": {}, "vi": {}, "vim": {}, "nano": {}, "truncate": {}, "split": {}, "csplit": {},
	"cp": {moves: true, contents: mergesTree}, "mv": {moves: true}, "ln": {moves: true}, "install": {}, "scp": {}, "rename": {},
	"gcp": {moves: true, contents: mergesTree}, "gmv": {moves: true}, "gtee": {}, "ditto": {moves: true, contents: always},
	"sed": {inPlace: "i", script: true}, "gsed": {inPlace: "i", script: true}, "perl": {inPlace: "i", script: true}, "ruby": {inPlace: "i", script: true},
	"sort": {only: "o"}, "curl": {only: "o"}, "wget": {only: "O"}, "uniq": {}, "shuf": {only: "o"}, "gcc": {only: "o"}, "cc": {only: "o"},
	"rsync": {contents: endsElsewhere}, "patch": {contents: changesAny("--dry-run")}, "git apply": {contents: changesAny("--check", "--stat", "--numstat", "--summary")},
	"git am": {contents: always}, "tar": {contents: unpacks}, "bsdtar": {contents: unpacks}, "gtar": {contents: unpacks}, "unzip": {contents: unpacks}, "bsdcpio": {contents: unpacks},
	"cpio": {contents: unpacks}, "7z": {contents: unpacks}, "7za": {contents: unpacks}, "7zz": {contents: unpacks}, "unrar": {contents: unpacks}, "pax": {contents: unpacks}, "jar": {contents: unpacks},
	"gcpio": {contents: unpacks}, "7zr": {contents: unpacks}, "unar": {contents: always}, "cabextract": {contents: always}, "unsquashfs": {contents: always}, "unshar": {contents: always}, "munpack": {contents: always}, "lha": {contents: extracts}, "arj": {contents: extracts},
	"ar": {contents: extracts}, "uudecode": {contents: namesItself}, "python -m zipfile": {contents: extracts}, "python -m tarfile": {contents: extracts}, "dpkg-deb": {contents: extracts},
	"gzip": stripper, "gunzip": stripper, "pigz": stripper, "unpigz": stripper, "uncompress": stripper, "xz": stripper, "unxz": stripper, "lzma": stripper, "unlzma": stripper, "bzip2": stripper, "bunzip2": stripper, "pbzip2": stripper,
	"lbzip2": stripper, "lbunzip2": stripper, "zstd": stripper, "unzstd": stripper, "pzstd": stripper, "lz4": stripper, "unlz4": stripper, "lzip": stripper, "plzip": stripper, "lzop": stripper, "brotli": stripper,
	"gpg": {strips: true, contents: embedsName}, "gpg2": {strips: true, contents: embedsName},
}

// stripper unpacks one file, or what is in a directory.
var stripper = writer{strips: true, contents: stripsAny}

// removers take directories away: they are asked about what those hold.
var removers = []string{"rm", "rmdir", "unlink", "shred", "mv", "gmv"}

// writerOf returns the writer that a command is.
func writerOf(c commandline.Command) (writer, bool) {
	name, args := strings.ToLower(path.Base(c.Name().Text)), c.Args()
	if name == "git" {
		plain, _ := withoutGlobals(slices.Concat([]commandline.Word{c.Name()}, args))
		if len(plain) < 2 {
			return writer{}, false
		}
		name += " " + plain[1].Text
	}
	if programName(name) == "python" {
		name = "python -m " + moduleOf(args)
	}
	w, known := writers[name]
	if known && w.inPlace != "" && !hasOption(args, w.inPlace, "--in-place") {
		return writer{}, false
	}
	return w, known
}

// hasOption reports an option of one letter, alone or among others, or a long
// one, which may be cut short.
func hasOption(args []commandline.Word, letters string, long ...string) bool {
	return slices.ContainsFunc(args, func(w commandline.Word) bool {
		name, _, _ := strings.Cut(w.Text, "=")
		if strings.HasPrefix(name, "--") {
			return len(name) > 3 && slices.ContainsFunc(long, func(l string) bool { return strings.HasPrefix(l, name) })
		}
		return strings.HasPrefix(name, "-") && strings.ContainsAny(name, letters) && letters != ""
	})
}

// files are the arguments of a writer that may name a file that it writes.
func (w writer) files(args []commandline.Word) []commandline.Word {
	if w.script {
		given := hasOption(args, "e", "--expression", "--file")
		isScript := false
		return slices.DeleteFunc(slices.Clone(args), func(word commandline.Word) bool {
			switch option := strings.HasPrefix(word.Text, "-") && len(word.Text) > 1; {
			case isScript:
				isScript = false
				return true
			case option:
				isScript = strings.HasSuffix(word.Text, "e") && !strings.HasPrefix(word.Text, "--")
				return true
			case !given:
				given = true
				return true
			}
			return false
		})
	}
	if w.only == "" {
		return args
	}
	var values []commandline.Word
	for i, word := range args {
		switch {
		case i > 0 && hasOption(args[i-1:i], w.only, "--output", "--output-document") && !strings.Contains(args[i-1].Text, "="):
			values = append(values, word)
		case hasOption(args[i:i+1], w.only, "--output", "--output-document"):
			values = append(values, word)
		}
	}
	return values
}

func always(directories, []commandline.Word) bool { return true }

// changesAny is of programs that read which files they change, unless they only
// look.
func changesAny(looking ...string) func(directories, []commandline.Word) bool {
	return func(_ directories, args []commandline.Word) bool {
		return !slices.ContainsFunc(args, func(w commandline.Word) bool { return slices.Contains(looking, w.Text) })
	}
}

// moduleOf is the module that python is told to run, or "".
func moduleOf(args []commandline.Word) string {
	for i, w := range args {
		if module, ok := strings.CutPrefix(w.Text, "-m"); ok && module != "" {
			return module
		} else if ok && i+1 < len(args) {
			return args[i+1].Text
		}
	}
	return ""
}

// extracts reports an archive that is unpacked, by an option or by the letters
// of the first word: 'ar x'.
func extracts(_ directories, args []commandline.Word) bool {
	first := len(args) > 0 && !strings.HasPrefix(args[0].Text, "-") && (args[0].Dynamic || strings.ContainsAny(args[0].Text, "xeXE"))
	return first || hasOption(args, "xeXER", "--extract", "--vextract", "--raw-extract")
}

// namesItself reports a file that has the name it is unpacked to in it.
func namesItself(_ directories, args []commandline.Word) bool {
	return !hasOption(args, "op", "--output-file")
}

// stripsAny reports that it is not known to which name a file is unpacked: it has
// it in itself, its end is any, or it is one of a directory.
func stripsAny(_ directories, args []commandline.Word) bool {
	return hasOption(args, "NrS", "--name", "--recursive", "--suffix", "--filelist", "--files", "--files0")
}

// suffixOf is what an option for changes in place has old files' names end with.
func suffixOf(args []commandline.Word) string {
	for _, w := range args {
		if _, value, ok := strings.Cut(w.Text, "="); ok && strings.HasPrefix(w.Text, "--i") {
			return value
		}
		if _, value, ok := strings.Cut(w.Text, "i"); ok && strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") {
			return value
		}
	}
	return ""
}

func embedsName(_ directories, args []commandline.Word) bool {
	return hasOption(args, "", "--use-embedded-filename", "--multifile")
}

// mergesTree reports a copy of what a directory holds into another: 'cp -r a/. b'.
func mergesTree(_ directories, args []commandline.Word) bool {
	if !hasOption(args, "rRa", "--recursive", "--archive") {
		return false
	}
	if hasOption(args, "T", "--no-target-directory") {
		return true
	}
	return slices.ContainsFunc(args, func(w commandline.Word) bool {
		end := path.Base(w.Text)
		return (end == "." || end == ".." || strings.HasSuffix(w.Text, "/.")) && w != args[len(args)-1]
	})
}

// unpacks reports an archive that is unpacked where it may matter.
func unpacks(p directories, args []commandline.Word) bool {
	looks := hasOption(args, "ltpZ", "--list", "--test", "--to-stdout", "--create", "--append", "--update", "--diff") && !hasOption(args, "xi", "--extract", "--get")
	if len(args) > 0 && !strings.HasPrefix(args[0].Text, "-") && !args[0].Dynamic && strings.Trim(args[0].Text, "abcdfgijklmnoprstuvwxzJXZ") == "" && len(args[0].Text) < 8 { // 'tar tf', '7z x'
		looks = !strings.ContainsAny(args[0].Text, "xe")
	} else if hasOption(args, "c") && !hasOption(args, "xi", "--extract", "--get") {
		looks = true
	}
	return !looks && !p.far(valueOf(args, "-C", "-d", "--directory", "--cd"))
}

// endsElsewhere reports a copy to a directory where it may matter.
func endsElsewhere(p directories, args []commandline.Word) bool {
	return len(args) == 0 || !p.far(args[len(args)-1])
}

// valueOf returns the value of one of these options.
func valueOf(args []commandline.Word, options ...string) commandline.Word {
	for i, w := range args {
		name, value, joined := strings.Cut(w.Text, "=")
		switch {
		case !slices.Contains(options, name):
		case joined:
			return commandline.Word{Text: value, Dynamic: w.Dynamic}
		case i+1 < len(args):
			return args[i+1]
		}
	}
	return commandline.Word{}
}

// far reports a directory in which no files are looked for: on another machine,
// or where neither the agent nor its user has theirs.
func (p directories) far(w commandline.Word) bool {
	if w.Dynamic || w.Text == "" {
		return false
	}
	if host, _, ok := strings.Cut(w.Text, ":"); ok && host != "" && !strings.Contains(host, "/") {
		return true
	}
	t := p.resolve(p.dir, w.Text)
	for _, own := range []string{p.dir, p.home} {
		_, within := inside(own, t.real)
		_, around := inside(t.real, own)
		if !t.known() || own != "" && (within || around) {
			return false
		}
	}
	return true
}

// harmless is a command that changes nothing, as long as it gets the options
// that are listed.
type harmless struct {
	options string   // single letters; they may be joined, and followed by digits
	long    []string // whole options
	// anyWords is that its arguments are not names of files: they may be
	// anything, even if not known.
	anyWords bool
}

// harmlessCommands are known to only read and print. Everything that is not
// here is asked for. What an option does was read in the manuals of GNU and BSD.
var harmlessCommands = map[string]harmless{
	"true": {}, "false": {}, ":": {anyWords: true}, "pwd": {options: "LP"},
	"echo":     {options: "neE", anyWords: true},
	"printf":   {},
	"basename": {options: "a", anyWords: true}, "dirname": {anyWords: true},
	"whoami": {}, "id": {options: "ugn"}, "uname": {options: "asrmnopv"}, "nproc": {}, "date": {options: "uR"},
	"command": {options: "vV"}, "type": {options: "tap"}, "which": {options: "a"},
	"seq": {}, "sleep": {}, "wait": {},
	"cd": {},

	"ls":   {options: "aAlhtrSRdFicgosGnpx", long: []string{"--color=never", "--color=auto", "--color=always", "--all"}},
	"cat":  {options: "AbeEnstTuv"},
	"head": {options: "cnqv"}, "tail": {options: "cnqv"},
	"wc":   {options: "clmwL"},
	"grep": {options: "abcEFGHhilLnoqrsvwxABCem", long: []string{"--color=never", "--color=auto"}},
	"nl":   {options: "ba"}, "cut": {options: "dfcbs"}, "tr": {options: "dcs"},
	"stat": {options: "Lct"}, "readlink": {options: "fen"}, "realpath": {options: "ems"},
	"md5sum": {}, "sha1sum": {}, "sha256sum": {}, "cksum": {},
	"cmp": {options: "bls"}, "du": {options: "shakmcd"}, "df": {options: "hkmTi"},
	"test": {long: testOptions}, "[": {long: testOptions}, "[[": {long: testOptions},

	"git status":    {options: "sbu", long: []string{"--short", "--branch", "--porcelain"}},
	"git diff":      {options: "Upwb", long: []string{"--stat", "--cached", "--staged", "--name-only", "--name-status", "--check"}},
	"git log":       {options: "np", long: []string{"--oneline", "--stat", "--graph", "--all", "--decorate", "--name-only"}},
	"git show":      {options: "p", long: []string{"--stat", "--name-only", "--oneline"}},
	"git rev-parse": {long: []string{"--show-toplevel", "--abbrev-ref", "--short", "--verify"}},
	"git branch":    {long: []string{"--show-current", "--list"}},
	"git ls-files":  {options: "comtsz"},
}

// testOptions are operators of test. Those that count have numbers beside them:
// other text is a problem of the line.
var testOptions = []string{"-e", "-f", "-d", "-r", "-w", "-x", "-s", "-z", "-n", "-L", "-h", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"}

// joined matches options of single letters, perhaps with a number.
var joined = regexp.MustCompile(`^-([A-Za-z]*)[0-9]*$`)

// risk says why a command is not known to be harmless, "" if it is.
func (p directories) risk(u use) string {
	name := u.command.Name()
	unknown := fmt.Sprintf("'%s' is not known to be harmless", name.Text)
	if len(u.command.Assigns()) > 0 {
		return "it sets variables, which can change what commands do"
	}
	if u.command.Leaves {
		return "it may go on when the line has ended, or prints to a file"
	}
	words := u.command.Args()
	full := name.Text
	if full == "git" {
		if u.elsewhere || !p.repository {
			return "git runs what the configuration of a repository says, and this is not known to be the agent's own"
		}
		for len(words) > 0 && slices.Contains(gitPlain, words[0].Text) {
			words = words[1:]
		}
		if len(words) > 0 {
			full += " " + words[0].Text
			words = words[1:]
		}
		unknown = fmt.Sprintf("'%s' is not known to be harmless", full)
	}
	known, ok := harmlessCommands[full]
	if !ok {
		return unknown
	}
	for _, w := range words {
		switch {
		case w.Globs && known.anyWords && !p.globsInside(u, w):
			return fmt.Sprintf("'%s' may tell names of files outside the agent's directory", full)
		case w.Dynamic && known.anyWords:
		case w.Dynamic:
			return fmt.Sprintf("an argument of '%s' is not known before it runs", full)
		case strings.HasPrefix(w.Text, "-") && len(w.Text) > 1 && w.Text != "--":
			if !known.permits(w.Text) {
				return fmt.Sprintf("'%s' is not known to only read with '%s'", full, w.Text)
			}
		case full == "git branch", full == "date" && !strings.HasPrefix(w.Text, "+"):
			return unknown // they change something as soon as they get a word
		}
	}
	if known.anyWords {
		return ""
	}
	return p.argsOutside(u, full)
}

// globsInside reports a glob that finds names in the agent's directory alone: it
// is known where it looks, and it looks through no links.
func (p directories) globsInside(u use, w commandline.Word) bool {
	dir, name := path.Split(w.Text)
	if w.Unknown || u.elsewhere || strings.ContainsAny(dir, "*?[") || strings.Contains(w.Text, commandline.Hole) || name == "**" {
		return false
	}
	_, ok := inside(p.dir, p.resolve(p.dir, dir+".").real)
	return ok
}

// onlyReads reports a command that writes no file, whatever its arguments become.
func onlyReads(c commandline.Command) bool {
	_, known := harmlessCommands[c.Name().Text]
	return known && len(c.Assigns()) == 0
}

func (h harmless) permits(option string) bool {
	if slices.Contains(h.long, option) {
		return true
	}
	letters := joined.FindStringSubmatch(option)
	return letters != nil && strings.Trim(letters[1], h.options) == ""
}

// argsOutside says which argument may be a file outside the agent's directory.
func (p directories) argsOutside(u use, name string) string {
	for _, t := range u.args {
		if _, ok := inside(p.dir, t.real); !ok && t.given != "" {
			return fmt.Sprintf("'%s' may read '%s', which is outside the agent's directory", name, t.given)
		}
	}
	return ""
}
