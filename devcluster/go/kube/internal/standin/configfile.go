package standin

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"sigs.k8s.io/yaml"
)

// ConfigFile is where K3s looks for the same settings as YAML.
const ConfigFile = "/etc/rancher/k3s/config.yaml"

// withConfigFile adds what the configuration file says; the command line wins, for repeatable flags with its whole list.
func withConfigFile(given settings, path string) (settings, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return given, nil
	}
	if err != nil {
		return nil, err
	}
	merged, err := parseConfig(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	maps.Copy(merged, given)
	return merged, nil
}

func parseConfig(content []byte) (settings, error) {
	var raw map[string]any
	if err := yaml.Unmarshal(content, &raw); err != nil {
		return nil, err
	}
	parsed := settings{}
	for name, value := range raw {
		if _, known := accepted[name]; !known {
			return nil, refusal(name)
		}
		values, isList := value.([]any)
		if !isList {
			values = []any{value}
		}
		for _, item := range values {
			if err := parsed.add(name, fmt.Sprint(item)); err != nil {
				return nil, err
			}
		}
	}
	return parsed, nil
}
