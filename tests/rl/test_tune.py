def test_grid_of_trials(cartpole, tmp_path):
    from ray import tune

    config = cartpole.training(
        lr=tune.grid_search([1e-3, 1e-2]), optimizer_name="adam", optimizer_kwargs={}
    )

    results = tune.Tuner(
        config.algo_class,
        param_space=config,
        run_config=tune.RunConfig(
            name="grid",
            storage_path=str(tmp_path),
            stop={"training_iteration": 2},
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=True),
            verbose=0,
        ),
    ).fit()
    assert not results.errors
    assert sorted(r.config["lr"] for r in results) == [1e-3, 1e-2]
    for result in results:
        assert result.metrics["training_iteration"] == 2
        assert result.metrics["frames"]["trained"] == 40
        assert (tmp_path / "grid").exists()
        algo = config.algo_class.from_checkpoint(result.checkpoint.path)
        assert algo.frames()["trained"] == 40
        assert algo.train()["frames"]["trained"] == 60
        algo.stop()


def test_an_experiment_that_broke_off_goes_on_from_its_checkpoint(cartpole, tmp_path):
    from ray import tune

    broken = tmp_path / "broken"

    class BreaksOnce(cartpole.algo_class):
        def training_step(self):
            if self.training_iteration == 2 and not broken.exists():
                broken.touch()
                raise RuntimeError("the power fails")
            return super().training_step()

    run_config = tune.RunConfig(
        name="one",
        storage_path=str(tmp_path),
        stop={"training_iteration": 4},
        checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=1),
        verbose=0,
    )
    (error,) = tune.Tuner(BreaksOnce, param_space=cartpole, run_config=run_config).fit().errors
    assert "the power fails" in str(error)
    again = tune.Tuner.restore(str(tmp_path / "one"), BreaksOnce, resume_errored=True)
    (result,) = again.fit()
    assert result.error is None
    assert result.metrics["training_iteration"] == 4
    assert result.metrics["iterations_since_restore"] == 2
    assert result.metrics["frames"]["trained"] == 80
