package main

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
)

// Addresses "kept/<host>:<port>" are listened on once, for as long as the process lives. Each connection goes to the newest
// configuration, and none waits in a socket that closes: caddy's own way is a new socket (SO_REUSEPORT) for each configuration,
// and the kernel resets what waits in the old one. Together with a `shutdown_delay`, in which the old configuration gets no
// new connections, those that it just got have time to send their request before it shuts down.
func init() {
	caddy.RegisterNetwork("kept", kept.listen)
}

const retry = 10 * time.Millisecond // after an error of Accept, such as too many open files

var kept = sockets{open: map[string]*socket{}}

// sockets are the listening sockets by their address.
type sockets struct {
	mu   sync.Mutex
	open map[string]*socket
}

// listen returns a new listener, the one that gets the connections of this address from now on.
func (s *sockets) listen(ctx context.Context, _, host, port string, _ uint, config net.ListenConfig) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	address := net.JoinHostPort(host, port)
	if s.open[address] == nil {
		accepting, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		s.open[address] = newSocket(accepting)
	}
	return s.open[address].add(), nil
}

// socket hands the connections of one address to the newest of its listeners that is open; without one, they wait.
type socket struct {
	accepting net.Listener
	mu        sync.Mutex
	changed   *sync.Cond
	listeners []*listener
}

func newSocket(accepting net.Listener) *socket {
	s := &socket{accepting: accepting}
	s.changed = sync.NewCond(&s.mu)
	go s.pump()
	return s
}

func (s *socket) pump() {
	for {
		conn, err := s.accepting.Accept()
		if err != nil {
			time.Sleep(retry)
			continue
		}
		for !s.newest().take(conn) {
		}
	}
}

func (s *socket) newest() *listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.listeners) == 0 {
		s.changed.Wait()
	}
	return s.listeners[len(s.listeners)-1]
}

func (s *socket) add() *listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	added := &listener{socket: s, conns: make(chan net.Conn), closed: make(chan struct{})}
	s.listeners = append(s.listeners, added)
	s.changed.Signal()
	return added
}

func (s *socket) remove(gone *listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = slices.DeleteFunc(s.listeners, func(each *listener) bool { return each == gone })
}

// listener is one configuration's share of a socket.
type listener struct {
	socket *socket
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// take gives the listener a connection; false when it closed instead.
func (l *listener) take(conn net.Conn) bool {
	select {
	case l.conns <- conn:
		return true
	case <-l.closed:
		return false
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		l.socket.remove(l)
		close(l.closed)
	})
	return nil
}

func (l *listener) Addr() net.Addr {
	return l.socket.accepting.Addr()
}
