// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"mime"
	"strings"
)

// extensions stand for MIME types (RES-20). Any other type is stored as otherExtension, and read as OtherType: what a
// server calls its bytes is not repeated to whoever reads them.
var extensions = map[string]string{
	"text/plain": ".txt", "text/html": ".html", "text/markdown": ".md", "text/csv": ".csv",
	"application/json": ".json", "application/pdf": ".pdf",
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
	"audio/mpeg": ".mp3", "audio/wav": ".wav", "audio/ogg": ".ogg",
}

// OtherType is the MIME type of an artifact whose type is none of the 14 known ones.
const OtherType = "application/octet-stream"

const otherExtension = ".bin"

var types = func() map[string]string {
	m := map[string]string{otherExtension: OtherType}
	for mimeType, extension := range extensions {
		m[extension] = mimeType
	}
	return m
}()

// extension returns what stands for a MIME type, whatever its case and parameters.
func extension(mimeType string) string {
	mediaType, _, err := mime.ParseMediaType(mimeType)
	if e, ok := extensions[mediaType]; ok && err == nil {
		return e
	}
	return otherExtension
}

// parseName takes a name apart, or returns false when it is not one that we give.
func parseName(name string) (id, mimeType string, ok bool) {
	id, rest, _ := strings.Cut(name, ".")
	mimeType, ok = types["."+rest]
	return id, mimeType, ok && isDigest(id)
}

// isDigest reports whether s is a SHA-256 in small hexadecimal digits.
func isDigest(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }
