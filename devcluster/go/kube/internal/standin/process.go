package standin

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// lastLines is how much of a component's log its death notice repeats.
const lastLines = 5

// process is a component that runs as a child.
type process struct {
	name    string
	command *exec.Cmd
	done    chan struct{}
	ended   error
	tail    []string
}

// start runs a program under another name (argv[0]), which is how the multi-call binary chooses the component.
func start(name, program, directory string, args []string, ended chan<- error) (*process, error) {
	path, err := find(program)
	if err != nil {
		return nil, err
	}
	command := &exec.Cmd{
		Path: path, Args: append([]string{name}, args...), Dir: directory,
		// The children must not outlive the stand-in, even if it is killed. A group of their own keeps a terminal's Ctrl-C
		// from reaching them before the stand-in can end them in order.
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true},
	}
	output, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	command.Stdout, command.Stderr = writer, writer
	err = command.Start()
	writer.Close()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	child := &process{name: name, command: command, done: make(chan struct{})}
	go child.follow(output, ended)
	return child, nil
}

// find prefers the programs that lie beside this one, as they do in the image.
func find(program string) (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), program)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	return exec.LookPath(program)
}

var logLock sync.Mutex

// follow copies the component's log with its name in front, keeps the last lines, and notes its end.
func (child *process) follow(output io.Reader, ended chan<- error) {
	reader := bufio.NewReader(output)
	for {
		line, err := reader.ReadString('\n')
		if line = strings.TrimRight(line, "\n"); line != "" {
			child.tail = append(child.tail, line)
			child.tail = child.tail[max(0, len(child.tail)-lastLines):]
			logLock.Lock()
			fmt.Fprintf(os.Stderr, "%s: %s\n", child.name, line)
			logLock.Unlock()
		}
		if err != nil {
			break
		}
	}
	child.ended = child.command.Wait()
	close(child.done)
	ended <- child.obituary()
}

// obituary describes an end that was not asked for.
func (child *process) obituary() error {
	reason := "exit status 0"
	if child.ended != nil {
		reason = child.ended.Error()
	}
	return fmt.Errorf("%s ended (%s); its last lines were:\n  %s", child.name, reason, strings.Join(child.tail, "\n  "))
}

// stop asks the component to end, and ends it when it takes too long.
func (child *process) stop(patience time.Duration) {
	_ = child.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-child.done:
	case <-time.After(patience):
		logf("%s did not end within %s and is killed", child.name, patience)
		_ = child.command.Process.Kill()
		<-child.done
	}
}

func logf(format string, values ...any) {
	logLock.Lock()
	defer logLock.Unlock()
	fmt.Fprintf(os.Stderr, "k3s stand-in: "+format+"\n", values...)
}
