// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// copySelf copies this program to path, which is whole or not there at any time.
func copySelf(path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self) //nolint:gosec // this program
	if err != nil {
		return err
	}
	to, err := os.CreateTemp(filepath.Dir(path), ".mooring-bridge-*")
	if err != nil {
		return errors.Join(err, from.Close())
	}
	_, err = io.Copy(to, from)
	err = errors.Join(err, to.Chmod(0o555), to.Sync(), to.Close(), from.Close())
	if err == nil {
		err = os.Rename(to.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(to.Name()))
	}
	return nil
}
