// Package version says what a program is, in the one line that every subject of the testbed answers
// to --version: `NAME VERSION (COMMIT)`.
package version

import "runtime/debug"

// number is that of the workspace (Cargo.toml).
const number = "0.2.0"

// digits of the commit that are kept.
const digits = 12

// commit is given by the build: -ldflags "-X tare.dev/league/controller-runtime/internal/version.commit=…".
var commit string

// Line is the answer of a program.
func Line(program string) string {
	return program + " " + number + " (" + builtFrom() + ")"
}

// builtFrom is the commit that the build was given, or else the one that go build has found;
// "-dirty" where files of the repository differ from it.
func builtFrom() string {
	if commit != "" {
		return commit
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	found, dirty := "unknown", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			found = setting.Value[:min(digits, len(setting.Value))]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			dirty = "-dirty"
		}
	}
	return found + dirty
}
