// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// abortGrace is what calls get to end in after they were aborted.
const abortGrace = 2 * time.Second

// Server serves a Handler, and whatever is mounted beside it, on a listener.
type Server struct {
	http    http.Server
	handler *Handler
}

// NewServer returns a Server. root serves every request; it is handler itself, or a mux that handler is mounted in under
// Pattern. HTTP/2 comes with TLS.
func NewServer(handler *Handler, root http.Handler) *Server {
	return &Server{handler: handler, http: http.Server{
		Handler:           root,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		BaseContext:       func(net.Listener) context.Context { return handler.life },
		MaxHeaderBytes:    64 << 10,
		// What the server would log is what strangers sent; a library does not log.
		ErrorLog: log.New(io.Discard, "", 0),
		// There is no WriteTimeout: a stream lives as long as its call, and each write has its own deadline.
	}}
}

// Serve accepts connections until Shutdown. It returns nil after one.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown stops accepting and waits for what is in flight until ctx ends; what is left then is aborted and, after a
// short grace, cut off. It returns ctx's error when anything was.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	s.handler.Abort()
	if err == nil {
		return nil
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortGrace)
	defer cancel()
	if s.http.Shutdown(grace) != nil {
		_ = s.http.Close() // nothing is left to do for connections that do not close
	}
	return err
}
