// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mooring-dev/mooring/internal/bridge"
)

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		_, _ = fmt.Fprintln(stderr, "mooring-bridge:", err)
		return exitUsage
	}
	if o.copyTo != "" {
		err = copySelf(o.copyTo)
	} else {
		err = serve(ctx, o, stdout, stderr)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "mooring-bridge:", err)
		return exitFailed
	}
	return 0
}

// options is a command line.
type options struct {
	listen, tokenFile, dir, copyTo string
	env, command                   []string
}

var (
	errArguments = errors.New("--copy-to takes no command")
	errToken     = errors.New("--token-file is required")
	errEnv       = errors.New("--env takes the name of a variable")
)

// parse reads a command line. Package flag itself says what is wrong with a flag.
func parse(args []string, stderr io.Writer) (*options, error) {
	var o options
	f := flag.NewFlagSet("mooring-bridge", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` to listen on")
	f.StringVar(&o.tokenFile, "token-file", "", "`file` that holds the token shared with the operator, at least 32 random bytes")
	f.StringVar(&o.dir, "dir", "", "working `directory` of the command (default the bridge's own)")
	f.StringVar(&o.copyTo, "copy-to", "", "copy this program to `path` and exit")
	f.Func("env", "pass the variable `NAME` to the command; no other is passed (repeatable)", func(name string) error {
		if name == "" || strings.Contains(name, "=") {
			return errEnv
		}
		o.env = append(o.env, name)
		return nil
	})
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	o.command = f.Args()
	switch {
	case o.copyTo != "" && len(o.command) > 0:
		return nil, errArguments
	case o.copyTo != "":
		return &o, nil
	case o.tokenFile == "":
		return nil, errToken
	case len(o.command) == 0:
		return nil, bridge.ErrCommand
	}
	return &o, nil
}

func serve(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	token, err := bridge.ReadToken(o.tokenFile)
	if err != nil {
		return err
	}
	// Otherwise the command, which runs as the same user, reads in /proc the variables that were not passed to it, and
	// the token in memory.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp", o.listen)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, ln.Addr()); err != nil {
		return errors.Join(err, ln.Close())
	}
	s := &bridge.Server{
		Token:     token,
		Command:   o.command,
		Dir:       o.dir,
		Env:       pick(o.env),
		Stderr:    stderr,
		Log:       slog.New(slog.NewTextHandler(stderr, nil)),
		Subreaper: true,
	}
	return s.Serve(ctx, ln)
}

// pick returns the variables of this process that have the given names.
func pick(names []string) []string {
	var out []string
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}
