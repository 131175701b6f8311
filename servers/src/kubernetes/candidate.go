// A candidate of client-go. Prints a line for each event: the nanoseconds of CLOCK_BOOTTIME, and one of
//
//	campaigns      it asks for the lead from now on
//	leader NAME    client-go has seen another leader (OnNewLeader); no NAME: the lease was given back
//	started        it leads (OnStartedLeading)
//	cancelled      SIGTERM came: work of a leader is over, as ReleaseOnCancel demands, and the lease is given back next
//	stopped        client-go has stopped (OnStoppedLeading), whether it has led or not
//
// A candidate that has lost the lead asks for it again. After SIGTERM it ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the file that says how to reach the API server")
	namespace := flag.String("namespace", "default", "the namespace of the Lease")
	lease := flag.String("lease", "", "the name of the Lease")
	identity := flag.String("identity", "", "the name of this candidate")
	leaseDuration := flag.Duration("lease-duration", 15*time.Second, "LeaseDuration")
	renewDeadline := flag.Duration("renew-deadline", 10*time.Second, "RenewDeadline")
	retryPeriod := flag.Duration("retry-period", 2*time.Second, "RetryPeriod")
	releaseOnCancel := flag.Bool("release-on-cancel", false, "ReleaseOnCancel")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	client, err := coordinationv1.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	election := leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: *namespace, Name: *lease},
			Client:     client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: *identity},
		},
		LeaseDuration:   *leaseDuration,
		RenewDeadline:   *renewDeadline,
		RetryPeriod:     *retryPeriod,
		ReleaseOnCancel: *releaseOnCancel,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { report("started") },
			OnStoppedLeading: func() { report("stopped") },
			OnNewLeader:      func(name string) { report("leader " + name) },
		},
	}

	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		report("cancelled")
		cancel()
	}()
	for ctx.Err() == nil {
		elector, err := leaderelection.NewLeaderElector(election)
		if err != nil {
			log.Fatal(err)
		}
		report("campaigns")
		elector.Run(ctx)
	}
}

var reporting sync.Mutex

func report(event string) {
	reporting.Lock()
	defer reporting.Unlock()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", now.Nano(), event)
}
