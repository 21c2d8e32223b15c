package container_test

import (
	"os"
	"testing"

	"den/internal/provider/container/podmantest"
)

func TestMain(m *testing.M) { os.Exit(podmantest.Main(m)) }
