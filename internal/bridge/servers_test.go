// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// servers are what the test binary can be when it runs as the command. Each says its process id first, where a test
// wants to know it.
var servers = map[string]func(){
	"echo": echo,
	"pid":  func() { say(os.Getpid()); echo() },
	// ends neither at the end of its input nor at SIGTERM
	"stubborn": func() {
		signal.Ignore(syscall.SIGTERM)
		say(os.Getpid())
		select {}
	},
	// ends at SIGTERM only, and says so
	"deaf": func() {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		say(os.Getpid())
		<-c
		say("terminated")
	},
	"farewell": func() { // ends when its input does, and has something to say then
		say(os.Getpid())
		_, _ = io.Copy(io.Discard, os.Stdin)
		say("goodbye")
	},
	"flood": func() { // of standard error
		line := append(bytes.Repeat([]byte("\x1b[31mred\x07 "), 200), '\n')
		for range 20000 {
			_, _ = os.Stderr.Write(line)
		}
		say("flooded")
		_, _ = fmt.Fprint(os.Stderr, "the end é\x00")
	},
	"long": func() { // one line of as many bytes as the first argument says
		n, _ := strconv.Atoi(os.Args[1])
		_, _ = os.Stdout.Write(append(bytes.Repeat([]byte("x"), n), '\n'))
		echo()
	},
	"endless": func() {
		say(os.Getpid())
		for {
			if _, err := os.Stdout.WriteString("{}\n"); err != nil {
				return
			}
		}
	},
	"noread":  func() { say(os.Getpid()); time.Sleep(time.Hour) },
	"garbage": func() { _, _ = os.Stdout.Write(garbage); echo() },
	"about": func() {
		dir, _ := os.Getwd()
		say(map[string]any{"args": os.Args[1:], "dir": dir, "env": os.Environ()})
		echo()
	},
	"exit":   func() { _, _ = os.Stderr.WriteString("out of order\n"); os.Exit(3) },
	"midway": func() { _, _ = os.Stdout.WriteString(`{"jsonrpc":`); os.Exit(0) },
	"killed": func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} },
	// leaves a grandchild in its group, which holds its standard output
	"parent": func() {
		c := exec.Command("sleep", "1000")
		c.Stdout = os.Stdout
		if err := c.Start(); err != nil {
			panic(err)
		}
		say([]int{os.Getpid(), c.Process.Pid})
		echo()
	},
}

var garbage = []byte("not JSON\r\n\n\x00\xff\xfe\x1b[0m\n[1,2]\n{\"a\":1}{\"b\":2}\nlast\n")

func echo() { _, _ = io.Copy(os.Stdout, os.Stdin) }

func say(v any) {
	b, _ := json.Marshal(v)
	_, _ = os.Stdout.Write(append(b, '\n'))
}
