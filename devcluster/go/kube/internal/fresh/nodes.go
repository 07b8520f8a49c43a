package fresh

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// NodeFinalizer is on every node of a K3s cluster: its controllers look at a node once more before it goes.
const NodeFinalizer = "wrangler.cattle.io/node"

const (
	retryFirst = 5 * time.Millisecond
	retryLast  = 30 * time.Second
)

// HoldNodes keeps the finalizer on nodes and takes it from those that are being deleted, until the context ends.
func HoldNodes(ctx context.Context, client kubernetes.Interface) {
	factory := informers.NewSharedInformerFactory(client, 0)
	nodes := factory.Core().V1().Nodes()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryFirst, retryLast))
	enqueue := func(object any) {
		if node, ok := object.(*corev1.Node); ok {
			queue.Add(node.Name)
		}
	}
	_, _ = nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, node any) { enqueue(node) },
	})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	context.AfterFunc(ctx, queue.ShutDown)
	for {
		name, ended := queue.Get()
		if ended {
			return
		}
		node, err := nodes.Lister().Get(name)
		if err == nil {
			err = hold(ctx, client, node)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			queue.AddRateLimited(name)
		} else {
			queue.Forget(name)
		}
		queue.Done(name)
	}
}

// hold writes a node's finalizers if they are not as they should be.
func hold(ctx context.Context, client kubernetes.Interface, node *corev1.Node) error {
	has, leaves := slices.Contains(node.Finalizers, NodeFinalizer), node.DeletionTimestamp != nil
	if has != leaves {
		return nil
	}
	changed := node.DeepCopy()
	if leaves {
		changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(each string) bool { return each == NodeFinalizer })
	} else {
		changed.Finalizers = append(changed.Finalizers, NodeFinalizer)
	}
	_, err := client.CoreV1().Nodes().Update(ctx, changed, metav1.UpdateOptions{})
	return err
}
