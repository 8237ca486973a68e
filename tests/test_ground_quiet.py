"""The quiet start, seen from outside: what a program writes while the libraries start."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _run(code: str) -> subprocess.CompletedProcess:
    unset = ("TF_CPP_MIN_LOG_LEVEL", "PYTHONWARNINGS", "GRPC_VERBOSITY")
    environment = {k: v for k, v in os.environ.items() if k not in unset and "RAY_" not in k}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True
    )


def test_the_libraries_start_without_a_word_and_errors_are_heard():
    done = _run("""
from tf_relational import quiet
quiet.start()
import keras, ray, tensorflow as tf
print("jit", float(tf.function(lambda x: x + 1, jit_compile=True)(tf.constant(1.0))))

@ray.remote
def in_worker():
    import tensorflow as tf
    return float(tf.constant(2.0))

# Ray gives its processes 30 seconds to come up, too little where other programs have the cores.
for attempt in range(3):
    try:
        ray.init(num_cpus=1, include_dashboard=False, **quiet.ray_options())
        break
    except Exception:
        ray.shutdown()
print("worker", ray.get(in_worker.remote()))
ray.shutdown()

import logging, sys, warnings
print("STARTED", file=sys.stderr)
warnings.warn("a warning of the user's code")
logging.getLogger("mine").warning("a log line of the user's code")
tf.get_logger().error("an error of TensorFlow")
tf.reshape(tf.zeros(3), (2, 2))
""")
    assert done.stdout == "jit 2.0\nworker 2.0\n", done.stderr
    start, after = done.stderr.split("STARTED\n")
    assert start == ""
    assert done.returncode == 1
    assert "a warning of the user's code" in after
    assert "a log line of the user's code" in after
    assert "an error of TensorFlow" in after
    assert "Input to reshape is a tensor with 3 values" in after


def test_what_a_dying_import_says_is_heard():
    # A processor without AVX: TensorFlow's libraries say so on file descriptor 2 and abort.
    done = _run("""
import os, sys, tempfile
from pathlib import Path
folder = tempfile.mkdtemp()
(Path(folder) / "tensorflow.py").write_text('''
import os
os.write(2, b"I0000 00:00:1 cudart_stub.cc:31] nothing of importance\\\\n")
os.write(2, b"F0000 00:00:1 cpu.cc:1] compiled to use AVX instructions\\\\n")
os.abort()
''')
sys.path.insert(0, folder)
from tf_relational import quiet
quiet.start()
import tensorflow
""")
    assert done.returncode != 0
    assert "compiled to use AVX instructions" in done.stderr
    assert "nothing of importance" not in done.stderr


def test_the_users_own_settings_win():
    done = _run("""
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"
from tf_relational import quiet
quiet.start()
print(os.environ["TF_CPP_MIN_LOG_LEVEL"], quiet.environment()["TF_CPP_MIN_LOG_LEVEL"])
""")
    assert done.stdout == "0 0\n"
