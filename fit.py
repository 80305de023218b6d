import contextlib, io, os, signal, sys
from model import *

model.save("model.keras")
np.savetxt("train.csv", np.concatenate([x, y], axis=1), delimiter=",", header="a,b,c,y", comments="")
reference = keras.models.clone_model(model)
reference.set_weights(model.get_weights())
reference.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
validation = x[:32], y[:32]
theirs = reference.fit(x, y, batch_size=16, epochs=3, shuffle=False, validation_data=validation, verbose=0)
shown = io.StringIO()
with contextlib.redirect_stdout(shown):
    ours = program.fit(epochs=3, validation=validation)
assert ours.epoch == theirs.epoch == [0, 1, 2] and ours.step == [6, 12, 18] and ours.history.keys() == theirs.history.keys(), vars(ours)
for name, values in theirs.history.items():
    np.testing.assert_allclose(ours.history[name], values, rtol=1e-4, err_msg=name)
for mine, other in zip(model.get_weights(), reference.get_weights()):
    np.testing.assert_allclose(mine, other, atol=1e-5)
lines = [line.split("  ")[:2] for line in shown.getvalue().splitlines() if line.startswith("epoch")]
assert lines == [["epoch 1/3", "step 6/18"], ["epoch 2/3", "step 12/18"], ["epoch 3/3", "step 18/18"]], shown.getvalue()
assert repr(ours).startswith("<History: 3 entries to step 18, loss ") and "out/program.json" in repr(program)
assert "IPython" not in sys.modules

loss, mae = reference.evaluate(*validation, batch_size=16, verbose=0)
evaluated = program.evaluate()
assert abs(evaluated["loss"] - loss) < 1e-5 and abs(evaluated["mae"] - mae) < 1e-5, (evaluated, loss, mae)
np.testing.assert_allclose(program.predict(x[:40]), reference.predict(x[:40], verbose=0), atol=1e-5)

class Interrupts(io.StringIO):
    def write(self, text):
        if "epoch 5/" in text:
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(text)

before = signal.getsignal(signal.SIGINT)
try:
    with contextlib.redirect_stdout(Interrupts()):
        program.fit(epochs=10**9)
except KeyboardInterrupt as problem:
    stopped = problem.history
    assert str(problem).startswith(f"the training was interrupted at step {stopped.last_step}: out/checkpoints/step-"), problem
else:
    raise AssertionError
assert stopped.reason == "interrupted" and stopped.last_step >= 30 and signal.getsignal(signal.SIGINT) is before, vars(stopped)
saved = tfd_export.read_checkpoint(stopped.checkpoint)
np.testing.assert_array_equal(saved["m/dense/kernel" if "m/dense/kernel" in saved else model.variables[0].path], model.get_weights()[0])
last = stopped.last_step // 6 + 2
with contextlib.redirect_stdout(io.StringIO()):
    ours = program.fit(epochs=last)
assert ours.epoch[-1] == last - 1 and ours.step[-1] == 6 * last and len(ours.epoch) == 2, vars(ours)
assert program.fit(epochs=last, verbose=False).reason == "nothing_left"
assert program.fit(epochs=1, start_over=True, verbose=False).step == [6]

def fails(kind, text, code=None, **options):
    try: program.fit(**options, verbose=False)
    except kind as problem: assert text in str(problem) and getattr(problem, "code", None) == code, (problem, code)
    else: raise AssertionError(options)

fails(tfd_export.TrainingError, "out/program.json: bogus: unknown key", 65, bogus=1)
fails(TypeError, "fit() has no option callbacks: ", callbacks=[])
fails(ValueError, "epochs and steps exclude each other", epochs=1, steps=1)
fails(ValueError, "epochs is 0, but has to be a whole number from 1 up", epochs=0)
fails(ValueError, "train: unknown key 'stepz', did you mean 'steps'?", train={"stepz": 1})
os.environ["PATH"] = "."
fails(tfd_export.TrainingError, "there is no tfd-run beside tfd_export nor in PATH: pip install tfdist", 78)
