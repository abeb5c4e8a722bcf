// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
)

// directory is a backend over a directory of the file system. The library below follows links and leaves modes to the
// umask; so all that is read or written is looked at here, before and after (RES-22). There are no sidecar files: they
// would have a mode of their own, and the extension says what they would say.
type directory struct {
	bucket
	path string // that holds the directories of sessions
}

const (
	directoryMode = 0o700
	fileMode      = 0o600
	// leftoverAge is the age from which a temporary file belongs to no write that runs.
	leftoverAge = time.Hour
)

// leftover is the name of a file that a write did not finish.
var leftover = regexp.MustCompile(`^[0-9a-f]{64}\.[a-z0-9]+\.[0-9a-f]+\.tmp$`)

func openDirectory(root string) (*directory, error) {
	// The root may be a volume's, with a mode and an owner of its own.
	if err := os.MkdirAll(root, directoryMode); err != nil {
		return nil, ErrLocation
	}
	opened, err := fileblob.OpenBucket(root, &fileblob.Options{
		DirFileMode: directoryMode, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, ErrLocation
	}
	d := &directory{bucket: bucket{opened}, path: filepath.Join(root, directoryName)}
	if err := makeDirectory(d.path); err != nil {
		return nil, err
	}
	return d, nil
}

// makeDirectory makes sure that path is a directory of ours.
func makeDirectory(path string) error {
	switch err := os.Mkdir(path, directoryMode); {
	case err == nil:
		if err := os.Chmod(path, directoryMode); err != nil { // whatever the umask is
			return ErrUnavailable
		}
	case !errors.Is(err, fs.ErrExist):
		return ErrUnavailable
	}
	return ownDirectory(path)
}

// ownDirectory returns ErrUnsafe unless path is a directory, not a link, of this process's user and no one else's, and
// ErrNotFound when it is missing. A set-group-ID bit is inherited on volumes of a group, and gives nobody access.
func ownDirectory(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotFound
	case err != nil:
		return ErrUnavailable
	case !info.IsDir(), info.Mode().Perm() != directoryMode, !owned(info):
		return ErrUnsafe
	}
	return nil
}

// own is ownDirectory of a session, and of what holds it.
func (d *directory) own(session string) error {
	if err := ownDirectory(d.path); err != nil {
		return err
	}
	return ownDirectory(filepath.Join(d.path, session))
}

func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(os.Geteuid())
}

// ownFile says of a file what ownDirectory says of a directory.
func ownFile(info fs.FileInfo) error {
	if !info.Mode().IsRegular() || info.Mode().Perm() != fileMode || !owned(info) {
		return ErrUnsafe
	}
	return nil
}

func (d *directory) list(_ context.Context, session string) ([]object, error) {
	switch err := d.own(session); {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	path := filepath.Join(d.path, session)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0) //nolint:gosec // the name is a digest
	if err != nil {
		return nil, ErrUnsafe
	}
	defer f.Close() //nolint:errcheck // nothing was written
	entries, err := f.ReadDir(2 * MaxArtifacts)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, ErrUnavailable
	}
	var objects []object
	for _, entry := range entries {
		o, err := d.entry(path, entry)
		if err != nil {
			return nil, err
		}
		if o.name != "" {
			objects = append(objects, o)
		}
	}
	if len(objects) > MaxArtifacts || len(entries) == 2*MaxArtifacts {
		return nil, ErrQuota
	}
	return objects, nil
}

// entry returns the object that a directory entry is. It has no name when the entry is a file that a write has not
// finished; an old one is removed.
func (d *directory) entry(path string, entry fs.DirEntry) (o object, err error) {
	info, err := entry.Info()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return o, nil
	case err != nil:
		return o, ErrUnavailable
	case leftover.MatchString(entry.Name()) && info.Mode().IsRegular() && owned(info):
		if time.Since(info.ModTime()) > leftoverAge && os.Remove(filepath.Join(path, entry.Name())) != nil {
			return o, ErrUnsafe
		}
		return o, nil
	}
	if _, _, ok := parseName(entry.Name()); !ok {
		return o, ErrUnsafe
	}
	return object{name: entry.Name(), size: info.Size(), modified: info.ModTime()}, ownFile(info)
}

func (d *directory) find(_ context.Context, session, id string) (object, error) {
	if err := d.own(session); err != nil {
		return object{}, err
	}
	for extension := range types {
		info, err := os.Lstat(filepath.Join(d.path, session, id+extension))
		if err == nil {
			return object{name: id + extension, size: info.Size(), modified: info.ModTime()}, ownFile(info)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return object{}, ErrUnavailable
		}
	}
	return object{}, ErrNotFound
}

func (d *directory) read(ctx context.Context, session string, o object, w writer) error {
	info, err := d.check(session, o.name)
	if err != nil {
		return err
	}
	r, err := d.blob.NewReader(ctx, prefix(session)+o.name, nil)
	if err != nil {
		return driverError(ctx, err)
	}
	if !same(r, info) {
		_ = r.Close()
		return ErrUnsafe
	}
	return drain(ctx, r, o.size, w)
}

// same reports whether what was opened is what was looked at.
func same(r *blob.Reader, info fs.FileInfo) bool {
	var opened io.Reader
	if !r.As(&opened) {
		return false
	}
	file, ok := opened.(*os.File)
	if !ok {
		return false
	}
	now, err := file.Stat()
	return err == nil && os.SameFile(now, info)
}

// check looks at a file of a session, and at the directories above it.
func (d *directory) check(session, name string) (fs.FileInfo, error) {
	if err := d.own(session); err != nil {
		return nil, err
	}
	info, err := os.Lstat(filepath.Join(d.path, session, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotFound
	case err != nil:
		return nil, ErrUnavailable
	}
	return info, ownFile(info)
}

// write makes a file under another name, which becomes its name when all of it is on the disk (RES-25).
func (d *directory) write(ctx context.Context, session, name string, data []byte) error {
	if err := errors.Join(makeDirectory(d.path), makeDirectory(filepath.Join(d.path, session))); err != nil {
		return err
	}
	switch _, err := d.check(session, name); {
	case err == nil:
		return errExists
	case !errors.Is(err, ErrNotFound):
		return err
	}
	if err := d.create(ctx, prefix(session)+name, data); err != nil {
		return driverError(ctx, err)
	}
	_, err := d.check(session, name)
	return err
}

func (d *directory) create(ctx context.Context, key string, data []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before Close, it discards the file
	var file *os.File
	w, err := d.blob.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: OtherType, // which is stored nowhere, but spares the library to guess
		IfNotExist:  true,
		BeforeWrite: func(as func(any) bool) error {
			if !as(&file) {
				return ErrUnavailable
			}
			return file.Chmod(fileMode)
		},
	})
	if err != nil {
		return err
	}
	if _, err = w.Write(data); err == nil {
		err = file.Sync()
	}
	if err != nil {
		cancel()
	}
	return errors.Join(err, w.Close())
}

func (d *directory) remove(_ context.Context, session string) error {
	switch err := ownDirectory(d.path); {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if os.RemoveAll(filepath.Join(d.path, session)) != nil { // of a link, the link
		return ErrUnavailable
	}
	return nil
}
