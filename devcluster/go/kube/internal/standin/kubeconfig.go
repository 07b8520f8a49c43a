package standin

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// adminKubeconfig is where K3s leaves the administrator's kubeconfig.
const adminKubeconfig = "/etc/rancher/k3s/k3s.yaml"

const kubeconfigFormat = `apiVersion: v1
kind: Config
clusters:
- name: default
  cluster:
    certificate-authority-data: %s
    server: https://127.0.0.1:%d
contexts:
- name: default
  context:
    cluster: default
    user: default
current-context: default
users:
- name: default
  user:
    client-certificate-data: %s
    client-key-data: %s
`

// writeKubeconfig writes a self-contained kubeconfig for the client certificate of that name.
func writeKubeconfig(path string, mode fs.FileMode, at layout, port int, client string) error {
	authority, authorityErr := os.ReadFile(at.tls("server-ca.crt"))
	certificate, certificateErr := os.ReadFile(at.tls(client + ".crt"))
	key, keyErr := os.ReadFile(at.tls(client + ".key"))
	if err := errors.Join(authorityErr, certificateErr, keyErr); err != nil {
		return err
	}
	encode := base64.StdEncoding.EncodeToString
	content := fmt.Sprintf(kubeconfigFormat, encode(authority), port, encode(certificate), encode(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // the mode given to WriteFile counts for new files only, and the umask cuts it
}
