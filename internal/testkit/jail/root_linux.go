package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// newRoot is where the jail's root is made; it hides what the machine has there.
const newRoot = "/tmp"

// build makes the root of the jail and changes to it.
func build(given setup) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	repo, err := load(given.Repo)
	if err != nil {
		return err
	}
	programs := map[string][]byte{}
	for name, path := range given.Programs {
		if programs[name], err = os.ReadFile(path); err != nil {
			return err
		}
	}
	if err := mountTmp(newRoot); err != nil {
		return err
	}
	steps := []func() error{
		func() error { return fill(programs, given.Canaries) },
		libraries,
		devices,
		func() error { return places(repo) },
		enter,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func mountTmp(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_STRICTATIME, "mode=0755"); err != nil {
		return fmt.Errorf("mount tmpfs at %s: %w", dir, err)
	}
	return nil
}

func write(name string, data []byte, mode fs.FileMode) error {
	file := filepath.Join(newRoot, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, mode)
}

// canary notes its call: its words apart by one control character, its end
// with another.
const canary = "#!/bin/dash\nline=${0##*/}\nfor a; do line=$line\x1f$a; done\nprintf '%s\\0' \"$line\" >>" + notes + "\necho p1\n"

func fill(programs map[string][]byte, canaries []string) error {
	for _, name := range canaries {
		if err := write("bin/"+name, []byte(canary), 0o755); err != nil {
			return err
		}
	}
	for name, data := range programs {
		if err := write("bin/"+name, data, 0o755); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(newRoot+"/usr", 0o755); err != nil {
		return err
	}
	if err := os.Symlink("../bin", newRoot+"/usr/bin"); err != nil {
		return err
	}
	return write("etc/passwd", []byte("root:x:0:0:root:/home:/bin/sh\n"), 0o644)
}

// libraries binds the directories that dynamic programs need, read-only, and
// makes their links anew.
func libraries() error {
	for _, dir := range []string{"/usr/lib", "/usr/lib64", "/usr/libexec/git-core", "/lib", "/lib64"} {
		fi, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		to := newRoot + dir
		if fi.Mode()&fs.ModeSymlink != 0 {
			link, err := os.Readlink(dir)
			if err == nil {
				err = os.Symlink(link, to)
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := bind(dir, to, true); err != nil {
			return err
		}
	}
	return nil
}

func bind(from, to string, directory bool) error {
	if directory {
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
	} else if err := write(to[len(newRoot):], nil, 0o644); err != nil {
		return err
	}
	if err := syscall.Mount(from, to, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s: %w", from, err)
	}
	if !directory {
		return nil
	}
	var at syscall.Statfs_t
	if err := syscall.Statfs(to, &at); err != nil {
		return err
	}
	// What the machine's mount forbids already cannot be dropped here.
	locked := uintptr(at.Flags) & (syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC | syscall.MS_NOATIME | syscall.MS_NODIRATIME)
	if err := syscall.Mount("", to, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|locked, ""); err != nil {
		return fmt.Errorf("make %s read-only: %w", to, err)
	}
	return nil
}

func devices() error {
	for _, name := range []string{"/dev/null", "/dev/zero"} {
		if err := bind(name, newRoot+name, false); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink(to, newRoot+"/dev/"+name); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(newRoot+"/proc", 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("proc", newRoot+"/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount proc: %w", err)
	}
	return nil
}

// places makes the directories that can be written.
func places(repo tree) error {
	for _, dir := range []string{Home, "/tmp", filepath.Dir(notes)} {
		if err := mountTmp(newRoot + dir); err != nil {
			return err
		}
	}
	if err := repo.store(newRoot + Dir); err != nil {
		return err
	}
	if err := write(Outside+"/secret", []byte("secret\n"), 0o644); err != nil {
		return err
	}
	for at, to := range Links {
		if err := os.Symlink(to, newRoot+at); err != nil {
			return err
		}
	}
	return nil
}

// enter makes the new root the only one, and read-only.
func enter() error {
	if err := os.Mkdir(newRoot+"/.old", 0o700); err != nil {
		return err
	}
	if err := syscall.PivotRoot(newRoot, newRoot+"/.old"); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := syscall.Unmount("/.old", syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the machine's root: %w", err)
	}
	if err := os.Remove("/.old"); err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|syscall.MS_NOSUID, ""); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	return os.Chdir(Dir)
}
