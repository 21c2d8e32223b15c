package cli

import (
	"fmt"
	"io"
	"runtime"

	"den/internal/base/build"
	"den/internal/session/wire"

	"github.com/spf13/cobra"
)

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  den version -j",
		GroupID: groupMachine,
		Args:    args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return a.answer(map[string]any{
				"version": build.Version, "protocol": wire.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
			}, func(w io.Writer) {
				fmt.Fprintf(w, "den %s (protocol %d, %s, %s/%s)\n", build.Version, wire.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			})
		},
	}
}
