package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"

	"den/internal/base/fault"
)

// LoadRules reads a file that has nothing but rules, as an agent's
// 'permissions' has them.
func LoadRules(path string) ([]PermissionRule, error) {
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Errorf(fault.NotFound, "read rules: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	tree, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	var r report
	var file struct {
		Permissions []PermissionRule `key:"permissions"`
	}
	canonical(tree, reflect.TypeOf(file), "a file of rules", &r)
	decode(tree, &file, "a file of rules", &r)
	return file.Permissions, r.err(path)
}
