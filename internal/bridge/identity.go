// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"time"
)

// role names an end of the connection; the keys of the two ends differ, so that neither can be played back its own.
type role string

const (
	server role = "mooring bridge server"
	client role = "mooring bridge client"
)

// config returns the TLS configuration of the end that is role: it proves self's key and accepts peer's key only.
func config(token Token, self, peer role) (*tls.Config, error) {
	if err := token.check(); err != nil {
		return nil, err
	}
	own, err := key(token, self)
	if err != nil {
		return nil, err
	}
	other, err := key(token, peer)
	if err != nil {
		return nil, err
	}
	certificate, err := selfSigned(own)
	if err != nil {
		return nil, err
	}
	expected := other.Public()
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{certificate},
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true,
		InsecureSkipVerify:     true, //nolint:gosec // no chain and no name to verify: VerifyConnection compares the key itself
		VerifyConnection: func(state tls.ConnectionState) error {
			return verify(state.PeerCertificates, expected)
		},
	}, nil
}

// verify accepts a peer that showed the expected key. TLS has made it prove that it holds it.
func verify(chain []*x509.Certificate, expected any) error {
	if len(chain) != 1 {
		return ErrPeer
	}
	shown, ok := chain[0].PublicKey.(ed25519.PublicKey)
	if !ok || !shown.Equal(expected.(ed25519.PublicKey)) { //nolint:forcetypeassert // key makes it
		return ErrPeer
	}
	return nil
}

// key derives a role's key from the token (RFC 5869, SHA-256, no salt: the token is uniformly random).
func key(token Token, r role) (ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, token, nil, string(r), ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// selfSigned wraps a key for TLS. Nobody looks at anything in the certificate but the key.
func selfSigned(own ed25519.PrivateKey) (tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280, 4.1.2.5: no expiration
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, own.Public(), own)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("wrap a key: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: own}, nil
}
