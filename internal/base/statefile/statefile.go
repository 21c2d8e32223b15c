// Package statefile keeps values in JSON files that have a version. A file of a
// newer version than the caller knows is refused, and left as it is.
//
// The version is in the field with the key "v" or "version", which the type of a
// file's content must have. Load checks it and Save sets it, so callers need not.
package statefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"strings"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
)

// Large bounds files that nobody but den writes: they are read whole.
const Large = 64 << 20

// ErrDamaged means that the content of a file makes no sense.
var ErrDamaged = errors.New("the file is damaged")

// Load reads a file of at most limit bytes. found is false where there is none,
// or none that can be used. Errors name the file: fault.Storage with ErrDamaged
// in the chain for content that is none, fault.Protocol for a newer version.
func Load[T any](path string, version int, limit int64) (t T, found bool, err error) {
	data, err := atomicfile.Read(path, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return t, false, nil
	}
	if err != nil {
		return t, false, fault.Errorf(fault.Storage, "%w", err)
	}
	t, err = Decode[T](path, data, version)
	return t, err == nil, err
}

// Decode is Load for content that was read already. name says in errors what it
// is.
func Decode[T any](name string, data []byte, version int) (T, error) {
	var t T
	if err := json.Unmarshal(data, &t); err != nil {
		var head struct {
			V       int `json:"v"`
			Version int `json:"version"`
		}
		_ = json.Unmarshal(data, &head) // Best effort: a newer version may have other types.
		if err := Check(name, max(head.V, head.Version), version); err != nil {
			return *new(T), err
		}
		return *new(T), fault.Errorf(fault.Storage, "%s: %w: %w", name, ErrDamaged, err)
	}
	if err := Check(name, int(versionOf(reflect.ValueOf(&t).Elem()).Int()), version); err != nil {
		return *new(T), err
	}
	return t, nil
}

// Check refuses what is newer than this build knows. name says what it is.
func Check(name string, version, known int) error {
	if version <= known {
		return nil
	}
	return fault.Hintf(fault.Errorf(fault.Protocol, "%s has version %d, this den knows %d", name, version, known), "use the newer den")
}

// Advise adds to an error of Load what a person can do about a damaged file. One
// of a newer version has its advice.
func Advise(err error, format string, args ...any) error {
	if fault.KindOf(err) == fault.Protocol {
		return err
	}
	return fault.Hintf(err, format, args...)
}

// Save replaces a file by t, of that version. It is there after a loss of power.
func Save[T any](path string, version int, t T) error {
	versionOf(reflect.ValueOf(&t).Elem()).SetInt(int64(version))
	return atomicfile.WriteJSON(path, t)
}

// Replace is Save without the wait for the disk.
func Replace[T any](path string, version int, t T) error {
	versionOf(reflect.ValueOf(&t).Elem()).SetInt(int64(version))
	return atomicfile.ReplaceJSON(path, t)
}

// versionOf returns the field of a struct that has the version: one of its own,
// or of what it begins with.
func versionOf(v reflect.Value) reflect.Value {
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name == "v" || name == "version" {
			return v.Field(i)
		}
	}
	if v.NumField() > 0 && v.Type().Field(0).Anonymous {
		return versionOf(v.Field(0))
	}
	panic(fmt.Sprintf("statefile: %s has no version", v.Type())) // a mistake of the program, not of the file
}

// Over returns the JSON of t with the keys of old, an earlier content of the same
// file, that T does not know: those of a newer build are kept. old may be nil.
func Over[T any](old []byte, t *T) (json.RawMessage, error) {
	known, err := json.Marshal(t)
	if err != nil || old == nil {
		return known, err
	}
	var all, fields map[string]json.RawMessage
	if err := json.Unmarshal(old, &all); err != nil {
		return nil, err
	}
	for f := range reflect.TypeFor[T]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		delete(all, name)
	}
	if len(all) == 0 {
		return known, nil
	}
	if err := json.Unmarshal(known, &fields); err != nil {
		return nil, err
	}
	maps.Copy(all, fields)
	return json.Marshal(all)
}

// PutAside renames a file that cannot be read, so that it can be looked at and
// stands in nobody's way. It returns why, with the name that the file has now.
func PutAside(path string, why error, now time.Time) error {
	aside := path + ".corrupt-" + now.UTC().Format("20060102T150405.000000000Z")
	if err := os.Rename(path, aside); err != nil {
		return fault.Errorf(fault.Storage, "%w, and cannot be kept aside: %w", why, err)
	}
	return fault.Errorf(fault.Storage, "%w; it is kept as %s", why, aside)
}
