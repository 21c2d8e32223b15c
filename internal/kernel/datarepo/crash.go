package datarepo

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"den/internal/kernel/isotime"
	"den/internal/kernel/jsonobject"
)

const (
	// maxCrash is how many characters of an error are told.
	maxCrash = 1500
	// crashQuiet is for how long the same error is told once.
	crashQuiet = 30 * time.Minute
)

// NotifyCrash leaves a note of an error in system/crash_notify.txt, for the
// agent's tools. It returns false if the same error was noted a short while
// ago.
func (r *Repo) NotifyCrash(ctx context.Context, now time.Time, text string) (noted bool, err error) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if utf8.RuneCountInString(text) > maxCrash {
		text = string([]rune(text)[:maxCrash])
	}
	err = r.Edit(ctx, func() error {
		object, err := r.crashState()
		if err != nil {
			return err
		}
		// The sum is no protection: it is what tools of the agent compare.
		sum := md5.Sum([]byte(text))
		hash := hex.EncodeToString(sum[:4])
		if textOf(object, "error_hash") == hash && recent(localTime(object, "last_notify"), now) {
			return nil
		}
		// The note first: killed in between, it is told twice, not never.
		if err := r.Write(crashFile, []byte(text)); err != nil {
			return err
		}
		noted = true
		if err := errors.Join(object.Set("last_notify", isotime.Naive(now, time.Local)), object.Set("error_hash", hash)); err != nil {
			return err
		}
		return r.Write(crashStateFile, object.File())
	})
	return noted, err
}

// recent reports whether t is within crashQuiet before now. A time in the
// future is from before the clock was set back.
func recent(t, now time.Time) bool {
	age := now.Sub(t)
	return age >= 0 && age < crashQuiet
}

// crashState is what was noted last. A damaged file is none: at worst an error
// is told again.
func (r *Repo) crashState() (*jsonobject.Object, error) {
	data, _, err := r.Read(crashStateFile, maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return jsonobject.New(), nil
	}
	if err != nil {
		return nil, err
	}
	object, err := jsonobject.Parse(crashStateFile, data)
	if err != nil {
		return jsonobject.New(), nil
	}
	return object, nil
}
