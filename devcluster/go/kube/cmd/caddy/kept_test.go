package main

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

type fixture struct {
	*testing.T
	sockets sockets
	port    string
}

func newFixture(t *testing.T) *fixture {
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(probe.Addr().String())
	probe.Close()
	return &fixture{T: t, sockets: sockets{open: map[string]*socket{}}, port: port}
}

func (f *fixture) listen() net.Listener {
	f.Helper()
	found, err := f.sockets.listen(context.Background(), "kept", "127.0.0.1", f.port, 0, net.ListenConfig{})
	if err != nil {
		f.Fatal(err)
	}
	return found.(net.Listener)
}

func (f *fixture) dial() net.Conn {
	f.Helper()
	client, err := net.Dial("tcp", "127.0.0.1:"+f.port)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { client.Close() })
	return client
}

// serve has a listener answer one connection, which must be the client's.
func (f *fixture) serve(by net.Listener, client net.Conn) {
	f.Helper()
	server, err := by.Accept()
	if err != nil {
		f.Fatal(err)
	}
	if _, err := io.WriteString(server, "served"); err != nil {
		f.Fatal(err)
	}
	server.Close()
	if answer, err := io.ReadAll(client); err != nil || string(answer) != "served" {
		f.Errorf("got '%s', %v", answer, err)
	}
}

func TestAConnectionThatWaitsWhenItsListenerClosesGoesToTheNext(t *testing.T) {
	f := newFixture(t)
	before := f.listen()
	client := f.dial()
	after := f.listen()
	before.Close()
	f.serve(after, client)
}

func TestTheNewestListenerGetsTheConnectionsWhileTheOldOneIsStillOpen(t *testing.T) {
	f := newFixture(t)
	f.listen()
	newest := f.listen()
	f.serve(newest, f.dial())
}

func TestTheOldListenerGoesOnWhenTheNewOneIsGivenUp(t *testing.T) {
	f := newFixture(t)
	old := f.listen()
	f.listen().Close()
	f.serve(old, f.dial())
}

func TestConnectionsWaitWhileThereIsNoListener(t *testing.T) {
	f := newFixture(t)
	f.listen().Close()
	client := f.dial()
	f.serve(f.listen(), client)
}

func TestAClosedListenerAcceptsNothing(t *testing.T) {
	closed := newFixture(t).listen()
	closed.Close()
	closed.Close()
	if _, err := closed.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
