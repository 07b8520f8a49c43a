package embedded

import (
	"context"

	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// ControllerManager runs kube-controller-manager until the context ends.
func ControllerManager(ctx context.Context, args []string) error {
	manager, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return err
	}
	known, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	flags := manager.Flags(known, disabled, aliases)
	manager.ParsedFlags = &flags
	if err := parse("kube-controller-manager", flags, args); err != nil {
		return err
	}
	components := manager.ComponentGlobalsRegistry
	if err := components.Set(); err != nil {
		return err
	}
	if err := logsapi.ValidateAndApply(manager.Logs, components.FeatureGateFor(basecompatibility.DefaultKubeComponent)); err != nil {
		return err
	}
	config, err := manager.Config(ctx, known, disabled, aliases)
	if err != nil {
		return err
	}
	return app.Run(ctx, config.Complete())
}
