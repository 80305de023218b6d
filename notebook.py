import contextlib, importlib.util, io, sys
if all(map(importlib.util.find_spec, ("nbclient", "ipykernel"))):
    import nbclient, nbformat
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("from model import *\\nhistory = program.fit(start_over=True)\\nhistory.step")])
    nbclient.NotebookClient(notebook).execute()
    shown = [one["data"]["text/plain"] for one in notebook.cells[0].outputs if one["output_type"] == "display_data"]
    assert notebook.cells[0].outputs[-1]["data"]["text/plain"] == "[6, 12]", notebook
else:
    import types
    shown = [""]
    class Handle:
        def update(self, data, raw): shown[0] = data["text/plain"]
    sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=1))
    sys.modules["IPython.display"] = types.SimpleNamespace(display=lambda data, raw, display_id: Handle())
    from model import *
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert program.fit(start_over=True).step == [6, 12] and not printed.getvalue(), printed.getvalue()
assert len(shown) == 1 and [line.split("  ")[0] for line in shown[0].splitlines() if line.startswith("epoch")] == ["epoch 1/2", "epoch 2/2"], shown
