package transfer

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"gbroker/grid"
	"gbroker/internal/outbound"
)

// objects is s3.
type objects struct{ transport *http.Transport }

func newS3(p outbound.Policy) objects { return objects{p.Transport()} }

func (objects) check(t target) error {
	if t.Hostname() == "" || t.Port() != "" || key(t) == "" || t.RawQuery != "" {
		return errors.New("write it as s3://BUCKET/KEY; the endpoint is in the credentials")
	}
	return nil
}

func key(t target) string { return strings.TrimPrefix(t.Path, "/") }

func (o objects) client(t target) (*minio.Client, error) {
	endpoint := &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	if t.secret.Endpoint != "" {
		var err error
		if endpoint, err = url.Parse(t.secret.Endpoint); err != nil || endpoint.Host == "" || endpoint.Scheme != "https" && endpoint.Scheme != "http" {
			return nil, fmt.Errorf("%w: endpoint of the credentials is no https://HOST", grid.ErrInvalid)
		}
	}
	creds := credentials.NewStaticV4(t.secret.AccessKey, t.secret.SecretKey, t.secret.SessionToken)
	if t.secret.AccessKey == "" {
		creds = credentials.NewStatic("", "", "", credentials.SignatureAnonymous)
	}
	c, err := minio.New(endpoint.Host, &minio.Options{
		Creds: creds, Secure: endpoint.Scheme == "https", Transport: o.transport, Region: t.secret.Region, MaxRetries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	return c, nil
}

// s3Kind is what a server's refusal means.
func s3Kind(err error) error {
	if err == nil {
		return nil
	}
	r := minio.ToErrorResponse(err)
	text := fmt.Errorf("the server answers %d %s", r.StatusCode, r.Code)
	switch {
	case r.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%w: %w", grid.ErrNotFound, text)
	case r.StatusCode == http.StatusUnauthorized, r.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w: %w", grid.ErrForbidden, text)
	case r.StatusCode == http.StatusTooManyRequests, r.StatusCode == http.StatusRequestTimeout, r.StatusCode == http.StatusConflict, r.StatusCode/100 == 5:
		return fmt.Errorf("%w: %w", grid.ErrUnavailable, text)
	case r.StatusCode/100 == 4:
		return fmt.Errorf("%w: %w", grid.ErrInvalid, text)
	}
	var u *url.Error
	if errors.As(err, &u) { // it repeats the address
		return u.Err
	}
	return err
}

// objectFacts are those of a whole object. A checksum of parts has a "-", and says nothing here.
func objectFacts(i minio.ObjectInfo) Facts {
	f := Facts{Size: i.Size, Version: i.ETag}
	f.add("sha-256", i.ChecksumSHA256)
	f.add("sha", i.ChecksumSHA1)
	f.add("crc32c", i.ChecksumCRC32C)
	f.add("crc32", i.ChecksumCRC32)
	sealed := i.Metadata.Get("X-Amz-Server-Side-Encryption")
	sum, err := hex.DecodeString(i.ETag)
	if err == nil && len(f.sums) == 0 && (sealed == "" || sealed == "AES256") && i.Metadata.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") == "" {
		f.add("md5", base64.StdEncoding.EncodeToString(sum))
	}
	return f
}

func (o objects) stat(ctx context.Context, t target) (Facts, error) {
	c, err := o.client(t)
	if err != nil {
		return Facts{}, err
	}
	i, err := c.StatObject(ctx, t.Host, key(t), minio.StatObjectOptions{Checksum: true})
	return objectFacts(i), s3Kind(err)
}

func (o objects) open(ctx context.Context, t target, offset int64, known Facts) (io.ReadCloser, Facts, int64, error) {
	c, err := o.client(t)
	if err != nil {
		return nil, Facts{}, 0, err
	}
	facts := known
	if offset == 0 || known.Version == "" {
		if facts, err = o.stat(ctx, t); err != nil {
			return nil, Facts{}, 0, err
		}
		offset = 0
	}
	get := minio.GetObjectOptions{}
	if facts.Version != "" {
		get.SetMatchETag(facts.Version)
	}
	if offset > 0 {
		get.SetRange(offset, 0)
	}
	if facts.Size == 0 {
		return http.NoBody, facts, 0, nil
	}
	r, _, _, err := (&minio.Core{Client: c}).GetObject(ctx, t.Host, key(t), get)
	if minio.ToErrorResponse(err).StatusCode == http.StatusPreconditionFailed && offset > 0 {
		return o.open(ctx, t, 0, Facts{}) // it has changed meanwhile
	}
	if err != nil {
		return nil, Facts{}, 0, s3Kind(err)
	}
	return r, facts, offset, nil
}

// abortLimit is for giving up the parts of an upload that broke.
const abortLimit = 30 * time.Second

func (o objects) store(ctx context.Context, t target, from *os.File, size int64, flag grid.CreationFlag) error {
	if flag == grid.Append {
		return fmt.Errorf("%w: nothing can be appended by S3", grid.ErrInvalid)
	}
	c, err := o.client(t)
	if err != nil {
		return err
	}
	put := minio.PutObjectOptions{ContentType: "application/octet-stream", PartSize: 16 << 20, NumThreads: 2,
		SendContentMd5: true, DisableContentSha256: true, // not every server takes pieces that are signed each
	}
	if flag == grid.DontOverwrite {
		put.SetMatchETagExcept("*")
		if _, err := o.stat(ctx, t); err == nil { // some servers do not know the condition
			return exists()
		}
	}
	if need := uint64(size/9000) + 1; need > put.PartSize { // 10,000 parts at most
		put.PartSize = (need>>20 + 1) << 20
	}
	var body io.Reader = io.NewSectionReader(from, 0, size)
	if size == 0 {
		body = http.NoBody
	}
	_, err = c.PutObject(ctx, t.Host, key(t), body, size, put)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil { // else the library has given its parts up
		abort, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortLimit)
		defer cancel()
		c.RemoveIncompleteUpload(abort, t.Host, key(t)) // what it says is of less use than err
	}
	if minio.ToErrorResponse(err).StatusCode == http.StatusPreconditionFailed && flag == grid.DontOverwrite {
		return exists()
	}
	return s3Kind(err)
}
