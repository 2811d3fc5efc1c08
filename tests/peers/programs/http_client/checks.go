package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
)

type check struct {
	name string
	run  func(*client) error
}

const large = 24 << 20

var checks = []check{
	{"GET", get},
	{"HEAD", head},
	{"statuses without a body", bodyless},
	{"POST of a known length", func(c *client) error { return post(c, 1<<20, 1<<20) }},
	{"POST of an unknown length", func(c *client) error { return post(c, 1<<20, -1) }},
	{"POST of nothing", func(c *client) error { return post(c, 0, 0) }},
	{"a large upload", func(c *client) error { return post(c, large, -1) }},
	{"a large download", download},
	{"cookies", cookies},
	{"trailers of a request", requestTrailers},
	{"trailers of an answer", responseTrailers},
	{"Expect: 100-continue", expectContinue},
	{"103 before the answer", earlyHints},
	{"streaming both ways", streaming},
	{"a request that is cancelled", cancel},
	{"a request that is cancelled in its answer", cancelDownload},
	{"a thousand requests, a hundred at a time", concurrent},
	{"a stream that is not read holds up no other", unread},
	{"all of it on few connections", fewConnections},
}

func get(c *client) error {
	request := c.request("GET", "/what?a=1&b=%20", nil)
	request.Header.Set("X-Mixed-Case", "Kept Value")
	came, err := c.what(request)
	if err != nil {
		return err
	}
	if came.Target != "/what?a=1&b=%20" || came.Method != "GET" || came.Length != 0 {
		return fmt.Errorf("%s %s with %d bytes", came.Method, came.Target, came.Length)
	}
	return same("X-Mixed-Case", came.Fields["x-mixed-case"], "Kept Value")
}

func head(c *client) error {
	response, body, err := c.read(c.request("HEAD", "/bytes?n=12345&length", nil))
	if err != nil {
		return err
	}
	if len(body) != 0 || response.ContentLength != 12345 {
		return fmt.Errorf("%d bytes, length %d", len(body), response.ContentLength)
	}
	return nil
}

func bodyless(c *client) error {
	for _, code := range []int{204, 304, 404} {
		response, err := c.do(c.request("GET", fmt.Sprintf("/status?code=%d", code), nil))
		if err != nil {
			return fmt.Errorf("%d: %w", code, err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != code || len(body) != 0 {
			return fmt.Errorf("%d, %d bytes, %v, for %d", response.StatusCode, len(body), err, code)
		}
		if err := same("ETag", response.Header["Etag"], `"same"`); err != nil {
			return err
		}
	}
	return nil
}

func post(c *client, size int, declared int64) error {
	request := c.request("POST", "/what", &pattern{length: size})
	request.ContentLength = declared
	if size == 0 {
		request.Body = http.NoBody
	}
	came, err := c.what(request)
	if err != nil {
		return err
	}
	if came.Length != int64(size) || came.Sum != sumOf(size) {
		return fmt.Errorf("%d bytes came of %d", came.Length, size)
	}
	if size > 0 && came.Declared != declared {
		return fmt.Errorf("said to be %d long, not %d", came.Declared, declared)
	}
	return nil
}

func download(c *client) error {
	for _, query := range []string{"", "&length"} {
		response, err := c.do(c.request("GET", fmt.Sprintf("/bytes?n=%d%s", large, query), nil))
		if err != nil {
			return err
		}
		err = isPattern(response.Body, large)
		response.Body.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Go's client splits a Cookie into crumbs (RFC 9113, 8.2.3).
func cookies(c *client) error {
	request := c.request("GET", "/what", nil)
	request.Header.Set("Cookie", "a=1; b=2; c=3")
	came, err := c.what(request)
	if err != nil {
		return err
	}
	return same("Cookie", came.Fields["cookie"], "a=1; b=2; c=3")
}

func requestTrailers(c *client) error {
	request := c.request("POST", "/what", &pattern{length: 100_000})
	request.ContentLength = -1
	request.Trailer = http.Header{"X-Sum": {"abc"}}
	came, err := c.what(request)
	if err != nil {
		return err
	}
	// They end at the proxy where the backend speaks HTTP/1.1: some merge them into the fields.
	wanted := ""
	if came.Proto == "HTTP/2.0" {
		wanted = "abc"
	}
	return same("X-Sum", came.Trailers["x-sum"], wanted)
}

func responseTrailers(c *client) error {
	request := c.request("GET", "/trailers", nil)
	request.Header.Set("Te", "trailers")
	response, body, err := c.read(request)
	if err != nil {
		return err
	}
	if string(body) != "with trailers\n" {
		return fmt.Errorf("body %q", body)
	}
	return errors.Join(
		same("X-Sum", response.Trailer["X-Sum"], "abc"),
		same("X-Late", response.Trailer["X-Late"], "unannounced"),
	)
}

func expectContinue(c *client) error {
	continued := false
	trace := &httptrace.ClientTrace{Got100Continue: func() { continued = true }}
	c.transport.ExpectContinueTimeout = patience
	request := c.request("POST", "/what", &pattern{length: 10})
	request.ContentLength = 10
	request.Header.Set("Expect", "100-continue")
	request = request.WithContext(httptrace.WithClientTrace(request.Context(), trace))
	came, err := c.what(request)
	if err == nil && (came.Length != 10 || !continued) {
		err = fmt.Errorf("%d bytes came, told to continue: %v", came.Length, continued)
	}
	return err
}

func earlyHints(c *client) error {
	link := ""
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		if code == http.StatusEarlyHints {
			link = h.Get("Link")
		}
		return nil
	}}
	request := c.request("GET", "/early", nil)
	request = request.WithContext(httptrace.WithClientTrace(request.Context(), trace))
	_, body, err := c.read(request)
	if err == nil && (string(body) != "final\n" || link == "") {
		err = fmt.Errorf("link %q, then %q", link, body)
	}
	return err
}

func streaming(c *client) error {
	reader, writer := io.Pipe()
	request := c.request("POST", "/echo", reader)
	request.ContentLength = -1
	response, err := c.do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for i := range 50 {
		sent := fmt.Sprintf("message %d\n", i)
		go io.WriteString(writer, sent)
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != sent {
			return fmt.Errorf("%q came back for %q: %v", got, sent, err)
		}
	}
	writer.Close()
	rest, err := io.ReadAll(response.Body)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%q behind the last message", rest)
	}
	return err
}

func cancel(c *client) error {
	before, err := c.counts()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error)
	go func() {
		_, err := c.do(c.request("GET", "/hang", nil).WithContext(ctx))
		done <- err
	}()
	if err := c.until("asked", func(now counts) bool { return now.Hanging > 0 }); err != nil {
		return err
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		return fmt.Errorf("ended with %v", err)
	}
	return c.until("told", func(now counts) bool { return now.Cancelled > before.Cancelled })
}

// The connection must be as good as before.
func cancelDownload(c *client) error {
	for range 20 {
		ctx, stop := context.WithCancel(context.Background())
		response, err := c.do(c.request("GET", "/bytes?n=100000000", nil).WithContext(ctx))
		if err != nil {
			stop()
			return err
		}
		_, err = io.CopyN(io.Discard, response.Body, 100_000)
		stop()
		response.Body.Close()
		if err != nil {
			return err
		}
	}
	return get(c)
}

func concurrent(c *client) error {
	slots := make(chan struct{}, 100)
	failures := make(chan error, 1000)
	var all sync.WaitGroup
	for i := range 1000 {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			size := i * 37 % 20_000
			response, err := c.do(c.request("GET", fmt.Sprintf("/bytes?n=%d", size), nil))
			if err == nil {
				err = isPattern(response.Body, size)
				response.Body.Close()
			}
			if err != nil {
				failures <- fmt.Errorf("request %d: %w", i, err)
			}
		})
	}
	all.Wait()
	close(failures)
	return <-failures
}

func unread(c *client) error {
	stuck, err := c.do(c.request("GET", fmt.Sprintf("/bytes?n=%d", large), nil))
	if err != nil {
		return err
	}
	defer stuck.Body.Close()
	for range 100 {
		response, err := c.do(c.request("GET", "/bytes?n=50000", nil))
		if err != nil {
			return err
		}
		err = isPattern(response.Body, 50_000)
		response.Body.Close()
		if err != nil {
			return err
		}
	}
	return isPattern(stuck.Body, large)
}

// A proxy that ends connections makes the client dial again.
func fewConnections(c *client) error {
	if dialled := c.dialled.Load(); dialled > 2 {
		return fmt.Errorf("%d connections", dialled)
	}
	return nil
}

func same(name string, values []string, wanted string) error {
	if got := strings.Join(values, " AND "); got != wanted {
		return fmt.Errorf("%s is %q, not %q", name, got, wanted)
	}
	return nil
}
