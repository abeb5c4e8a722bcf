// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// chmod spoils and mends modes.
func chmod(path string, mode fs.FileMode) error { return os.Chmod(path, mode) }

func openAt(t *testing.T, root string) *Store {
	t.Helper()
	s, err := Open(t.Context(), "file://"+root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestModes: RES-20, RES-22, RES-25 and SEC-10, whatever the umask is.
func TestModes(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o277} {
		old := syscall.Umask(mask)
		root := t.TempDir()
		if err := chmod(root, 0o755); err != nil {
			t.Fatal(err)
		}
		s := session(t, openAt(t, root), "session-1")
		id := put(t, s, "hello", "text/html")
		other := put(t, s, "other", "evil/../../x")
		syscall.Umask(old)
		want := map[string]fs.FileMode{
			"mcp-artifacts":                                       fs.ModeDir | 0o700,
			"mcp-artifacts/" + s.directory:                        fs.ModeDir | 0o700,
			"mcp-artifacts/" + s.directory + "/" + id + ".html":   0o600,
			"mcp-artifacts/" + s.directory + "/" + other + ".bin": 0o600,
		}
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			name, _ := filepath.Rel(root, path)
			if name == "." || err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil || info.Mode() != want[name] {
				t.Errorf("RES-22: umask %o: %s has mode %v, %v", mask, name, info.Mode(), err)
			}
			delete(want, name)
			return nil
		})
		if err != nil || len(want) != 0 {
			t.Errorf("RES-20: umask %o: missing %v, %v", mask, want, err)
		}
	}
}

var unsafeEntries = map[string]struct {
	spoil, mend func(dir, file string) error
	want        error
}{
	"RES-22 a file for others": {
		func(_, file string) error { return chmod(file, 0o644) },
		func(_, file string) error { return chmod(file, 0o600) }, ErrUnsafe,
	},
	"RES-22 a directory for others": {
		func(dir, _ string) error { return chmod(dir, 0o755) },
		func(dir, _ string) error { return chmod(dir, 0o700) }, ErrUnsafe,
	},
	"RES-22 what holds it for others": {
		func(dir, _ string) error { return chmod(filepath.Dir(dir), 0o750) },
		func(dir, _ string) error { return chmod(filepath.Dir(dir), 0o700) }, ErrUnsafe,
	},
	"RES-22 another owner": {
		func(_, file string) error { return os.Chown(file, 4242, 4242) },
		func(_, file string) error { return os.Chown(file, os.Geteuid(), os.Getegid()) }, ErrUnsafe,
	},
	"RES-22 a link in place of a file": {
		func(_, file string) error {
			return errors.Join(os.Rename(file, file+"-away"), os.Rename(file+"-away", filepath.Join(filepath.Dir(filepath.Dir(file)), "away")),
				os.Symlink("../away", file))
		},
		func(_, file string) error { return os.Remove(file) }, ErrUnsafe,
	},
	"RES-22 a link in place of the directory": {
		func(dir, _ string) error {
			return errors.Join(os.Rename(dir, dir+"-away"), os.Symlink(dir+"-away", dir))
		},
		func(dir, _ string) error { return os.Remove(dir) }, ErrUnsafe,
	},
	"RES-23 a strange name": {
		func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600) },
		func(dir, _ string) error { return os.Remove(filepath.Join(dir, "notes.txt")) }, ErrUnsafe,
	},
	"RES-23 a directory inside": {
		func(dir, _ string) error { return os.Mkdir(filepath.Join(dir, idOf("d")+".bin"), 0o700) },
		func(dir, _ string) error { return os.Remove(filepath.Join(dir, idOf("d")+".bin")) }, ErrUnsafe,
	},
	"RES-23 more than the quota": {
		func(dir, _ string) error {
			path := filepath.Join(dir, idOf("large")+".bin")
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, MaxSessionBytes))
		},
		func(dir, _ string) error { return os.Remove(filepath.Join(dir, idOf("large")+".bin")) }, ErrQuota,
	},
}

// TestUnsafeEntries: what is not ours alone stops all writes, until it is gone (RES-22, RES-23).
func TestUnsafeEntries(t *testing.T) {
	for name, c := range unsafeEntries {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "owner") && os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			root := t.TempDir()
			id := put(t, session(t, openAt(t, root), "a"), "hello", "text/plain")
			s := session(t, openAt(t, root), "a") // the next process
			dir := filepath.Join(root, directoryName, s.directory)
			file := filepath.Join(dir, id+".txt")
			if err := c.spoil(dir, file); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := s.Put(t.Context(), []byte("more"), ""); !errors.Is(err, c.want) {
					t.Errorf("Put: %v, want %v", err, c.want)
				}
			}
			if strings.HasPrefix(name, "RES-22") {
				if got, err := s.Get(t.Context(), id, 0, -1); !errors.Is(err, ErrUnsafe) {
					t.Errorf("Get: %+v, %v", got, err)
				}
			}
			if err := c.mend(dir, file); err != nil {
				t.Fatal(err)
			}
			if c.want == ErrQuota { //nolint:errorlint // compares the row's own value
				s = session(t, openAt(t, root), "a")
			}
			put(t, s, "more", "")
			if err := s.DeleteAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("after DeleteAll: %v", err)
			}
		})
	}
}

// TestUnsafeWhileRunning: what is spoiled after the first scan is found when it is read, and stops writes (RES-23).
func TestUnsafeWhileRunning(t *testing.T) {
	root := t.TempDir()
	s := session(t, openAt(t, root), "a")
	id := put(t, s, "hello", "text/plain")
	file := filepath.Join(root, directoryName, s.directory, id+".txt")
	if err := os.WriteFile(file, []byte("jello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(t.Context(), id, 0, 1); !errors.Is(err, ErrTampered) {
		t.Errorf("RES-25: other bytes of the same length: %+v, %v", got, err)
	}
	if _, err := s.Put(t.Context(), []byte("hello"), "text/plain"); !errors.Is(err, ErrTampered) {
		t.Errorf("RES-25: writing it again verifies it: %v", err)
	}
	if err := os.WriteFile(file, []byte("hello!"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), id, 0, -1); !errors.Is(err, ErrTampered) {
		t.Errorf("RES-25: another length: %v", err)
	}
	if err := chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), id, 0, -1); !errors.Is(err, ErrUnsafe) {
		t.Errorf("RES-22: read: %v", err)
	}
	if _, err := s.Put(t.Context(), []byte("more"), ""); !errors.Is(err, ErrUnsafe) {
		t.Errorf("RES-23: write: %v", err)
	}
	// What is gone is written again.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	put(t, s, "hello", "text/plain")
	if _, err := s.Get(t.Context(), id, 0, -1); err != nil {
		t.Error(err)
	}
}

// TestRoot: mcp-artifacts as a file or a link is refused (acceptance of section 8, RES-22).
func TestRoot(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, directoryName)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), "file://"+root); !errors.Is(err, ErrUnsafe) {
		t.Errorf("RES-22: a file: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.Symlink(t.TempDir(), path)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), "file://"+root); !errors.Is(err, ErrUnsafe) {
		t.Errorf("RES-22: a link: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(root, "a", "b")
	put(t, session(t, openAt(t, deep), "a"), "x", "")
}

// TestLeftovers: what a killed process left half-written neither stops writes nor stays for ever (RES-23, RES-25).
func TestLeftovers(t *testing.T) {
	root := t.TempDir()
	s := session(t, openAt(t, root), "a")
	put(t, s, "hello", "text/plain")
	dir := filepath.Join(root, directoryName, s.directory)
	fresh, old := filepath.Join(dir, idOf("f")+".txt.18ab.tmp"), filepath.Join(dir, idOf("o")+".txt.18ab.tmp")
	past := time.Now().Add(-2 * leftoverAge)
	if err := errors.Join(os.WriteFile(fresh, nil, 0o644), os.WriteFile(old, nil, 0o600), os.Chtimes(old, past, past)); err != nil {
		t.Fatal(err)
	}
	s = session(t, openAt(t, root), "a")
	put(t, s, "more", "text/plain")
	if entries, err := s.List(t.Context()); err != nil || len(entries) != 2 {
		t.Errorf("%+v, %v", entries, err)
	}
	if _, err := os.Lstat(fresh); err != nil {
		t.Errorf("a write that may run lost its file: %v", err)
	}
	if _, err := os.Lstat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old one stays: %v", err)
	}
}
