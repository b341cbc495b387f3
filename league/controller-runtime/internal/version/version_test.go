package version

import (
	"os"
	"strings"
	"testing"
)

func TestTheLineHasNameVersionAndCommit(t *testing.T) {
	commit = "1a2b3c4d5e6f"
	defer func() { commit = "" }()
	if got, want := Line("operator"), "operator "+number+" (1a2b3c4d5e6f)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTheVersionIsThatOfTheWorkspace(t *testing.T) {
	raw, err := os.ReadFile("../../../../Cargo.toml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), "\nversion = \""+number+"\"\n") {
		t.Errorf("Cargo.toml has another version than %s", number)
	}
}
